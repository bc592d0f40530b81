import { nearest } from '../../contract/nearest-word.ts'
import { ExactNumber } from '../../contract/notation/exact-json.ts'
import type { FieldPath, ReportFault } from './check-row.ts'
import { exclusionOf, fieldsOf, type ImportedUser, type RowKind } from './imported-user.ts'

type Fields = Record<string, unknown>

/** Maximum levels of metadata, because some parsers refuse deeper nesting. */
const maxDepth = 100

/**
 * Reads a row from a JSON or YAML value. Fields with a wrong type are reported and omitted.
 *
 * @returns undefined if the value is not an object
 */
export function readObject(value: unknown, kind: RowKind, report: ReportFault): ImportedUser | undefined {
  if (!isPlainObject(value)) {
    report([], 'a row must be an object')
    return undefined
  }
  const known = fieldsOf(kind)
  const row: ImportedUser = {}
  for (const [field, given] of Object.entries(value)) {
    const exclusion = exclusionOf(field, kind)
    if (exclusion) report([field], exclusion.message, exclusion.advice)
    else if (!known.includes(field)) report([field], unknownField(field, known))
    else if (field === 'metadata') readMetadata(row, given, report)
    else if (field === 'settings') readSettings(row, given, report)
    else if (field === 'permissions') readPermissions(row, given, report)
    else if (typeof given !== 'string') report([field], `${field} must be a string`)
    else if (field === 'email' || field === 'role') row[field] = given.trim()
    else row[field as 'id' | 'name' | 'password'] = given
  }
  return row
}

export function isPlainObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
}

function readMetadata(row: ImportedUser, given: unknown, report: ReportFault): void {
  if (!isPlainObject(given)) report(['metadata'], 'metadata must be an object')
  else if (checkMetadata(given, ['metadata'], report)) row.metadata = given
}

function readSettings(row: ImportedUser, given: unknown, report: ReportFault): void {
  if (!isPlainObject(given)) {
    report(['settings'], 'settings must be an object')
    return
  }
  const settings: NonNullable<ImportedUser['settings']> = {}
  for (const [key, value] of Object.entries(given)) {
    const path = ['settings', key]
    if (key === 'theme') {
      if (typeof value === 'string') settings.theme = value
      else report(path, 'settings.theme must be a string')
    } else if (key === 'notifications_enabled') {
      if (typeof value === 'boolean') settings.notifications_enabled = value
      else report(path, 'settings.notifications_enabled must be true or false')
    } else report(path, unknownField(key, ['theme', 'notifications_enabled']))
  }
  // An empty object would be a request without an effect.
  if (Object.keys(settings).length > 0) row.settings = settings
}

function readPermissions(row: ImportedUser, given: unknown, report: ReportFault): void {
  const wrong = Array.isArray(given) ? given.findIndex((permission) => typeof permission !== 'string') : -1
  if (!Array.isArray(given)) report(['permissions'], 'permissions must be a list of strings')
  else if (wrong === -1) row.permissions = given
  else report(['permissions', wrong], 'a permission must be a string')
}

function unknownField(field: string, known: readonly string[]): string {
  const meant = nearest(field, known)
  return `unknown field "${field}"${meant === undefined ? '' : `, did you mean "${meant}"?`}`
}

/** Whether metadata, or the value at a path in it, can be sent as JSON without a change. */
export function checkMetadata(value: unknown, path: FieldPath, report: ReportFault): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    report(path, 'a number must be finite')
    return false
  }
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return true
  if (path.length > maxDepth) {
    report(path, `metadata is nested deeper than ${maxDepth} levels`)
    return false
  }
  if (Array.isArray(value)) {
    return value.every((item, index) => checkMetadata(item, [...path, index], report))
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    report(path, 'metadata may contain only objects, lists, strings, numbers, true, false, and null')
    return false
  }
  return Object.entries(value).every(([key, inner]) => {
    const here = [...path, key]
    if (key !== '__proto__') return checkMetadata(inner, here, report)
    report(here, 'the key "__proto__" is not allowed')
    return false
  })
}
