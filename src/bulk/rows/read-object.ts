import { ExactNumber } from '../../contract/exact-json.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { FieldPath, SayFault } from './judge-row.ts'
import { fieldsOf, type RowKind, type UserRow } from './user-row.ts'

type Fields = Record<string, unknown>

/** Levels of metadata: some parsers refuse what is nested deeper. */
const deepest = 100

/**
 * What of a value of JSON or YAML is a row: the fields that are of their type.
 * @returns undefined for what is no object at all
 */
export function readObject(value: unknown, kind: RowKind, say: SayFault): UserRow | undefined {
  if (!isPlainObject(value)) {
    say([], 'a row must be an object')
    return undefined
  }
  const known = fieldsOf(kind)
  const row: UserRow = {}
  for (const [field, given] of Object.entries(value)) {
    if (!known.includes(field)) say([field], unknownField(field, known))
    else if (field === 'metadata') readMetadata(row, given, say)
    else if (field === 'settings') readSettings(row, given, say)
    else if (field === 'permissions') readPermissions(row, given, say)
    else if (typeof given !== 'string') say([field], `${field} must be a string`)
    else row[field as 'id' | 'email' | 'name' | 'password' | 'role'] = given
  }
  return row
}

export function isPlainObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
}

function readMetadata(row: UserRow, given: unknown, say: SayFault): void {
  if (!isPlainObject(given)) say(['metadata'], 'metadata must be an object')
  else if (judgeMetadata(given, say)) row.metadata = given
}

function readSettings(row: UserRow, given: unknown, say: SayFault): void {
  if (!isPlainObject(given)) {
    say(['settings'], 'settings must be an object')
    return
  }
  const settings: NonNullable<UserRow['settings']> = {}
  for (const [key, value] of Object.entries(given)) {
    const path = ['settings', key]
    if (key === 'theme') {
      if (typeof value === 'string') settings.theme = value
      else say(path, 'settings.theme must be a string')
    } else if (key === 'notifications_enabled') {
      if (typeof value === 'boolean') settings.notifications_enabled = value
      else say(path, 'settings.notifications_enabled must be true or false')
    } else say(path, unknownField(key, ['theme', 'notifications_enabled']))
  }
  // Settings without a key change nothing.
  if (Object.keys(settings).length > 0) row.settings = settings
}

function readPermissions(row: UserRow, given: unknown, say: SayFault): void {
  const wrong = Array.isArray(given) ? given.findIndex((permission) => typeof permission !== 'string') : -1
  if (!Array.isArray(given)) say(['permissions'], 'permissions must be a list of strings')
  else if (wrong === -1) row.permissions = given
  else say(['permissions', wrong], 'a permission must be a string')
}

function unknownField(field: string, known: readonly string[]): string {
  const meant = nearest(field, known)
  return `unknown field "${field}"${meant === undefined ? '' : `, did you mean "${meant}"?`}`
}

/** Whether all of it can be sent as JSON, and is then what it was. */
function judgeMetadata(metadata: object, say: SayFault): boolean {
  return judgeValue(metadata, ['metadata'], say)
}

function judgeValue(value: unknown, path: FieldPath, say: SayFault): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    say(path, 'a number must be finite')
    return false
  }
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return true
  if (path.length > deepest) {
    say(path, `metadata is nested deeper than ${deepest} levels`)
    return false
  }
  if (Array.isArray(value)) {
    return value.every((item, index) => judgeValue(item, [...path, index], say))
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    say(path, 'metadata may contain only objects, lists, strings, numbers, true, false, and null')
    return false
  }
  return Object.entries(value).every(([key, inner]) => {
    const here = [...path, key]
    if (key !== '__proto__') return judgeValue(inner, here, say)
    say(here, 'the key "__proto__" is not allowed')
    return false
  })
}
