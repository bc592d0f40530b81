import type { FieldPath, ReportFault } from '../../bulk/input/input-row.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { expandReferences } from '../../contract/notation/text.ts'
import { parseBoolean } from '../../contract/notation/text-value.ts'
import { userIn } from '../../contract/resources/user.ts'
import { checkOutcome } from './check-row.ts'
import { exclusionOf, fieldsOf, type ImportedUser, isIgnored, type RowKind } from './imported-user.ts'

/** How rows are read. */
export interface RowReading {
  kind: RowKind
  report: ReportFault
  /** Receives the fields that no request can send. */
  ignored: Set<string>
}

/**
 * Reads a row from a JSON or YAML value. Fields with a wrong type are reported and omitted. As an empty cell, null is
 * an absent field.
 * @returns undefined if the value is not an object
 */
export function readObject(value: unknown, reading: RowReading): ImportedUser | undefined {
  const { kind, report, ignored } = reading
  const user = userIn(value)
  if (!isRecord(user)) {
    report([], 'a row must be an object')
    return undefined
  }
  const known = fieldsOf(kind)
  const row: ImportedUser = {}
  const isPrinted = Object.hasOwn(user, 'created_at')
  for (const [field, given] of Object.entries(user)) {
    const exclusion = exclusionOf(field, kind)
    if (exclusion) report([field], exclusion.message, exclusion.hint)
    else if (!known.includes(field) && isIgnored(field, isPrinted, known)) ignored.add(field)
    else if (!known.includes(field)) report([field], unknownField(field, known))
    else if (![undefined, given].includes(Object(value)[field])) report([field], `${field} is given twice`)
    else if (given === null) continue
    else if (field === 'metadata') readMetadata(row, given, report)
    else if (field === 'settings') readSettings(row, given, reading)
    else if (field === 'permissions') readPermissions(row, given, report)
    else if (field === 'id' && Number.isSafeInteger(given)) row.id = String(given)
    else if (typeof given !== 'string') report([field], `${field} must be a string`)
    else if (field === 'email' || field === 'role') row[field] = given.trim()
    else row[field as 'id' | 'name' | 'password'] = given
  }
  checkOutcome(row, user['outcome'], report)
  return row
}

function readMetadata(row: ImportedUser, given: unknown, report: ReportFault): void {
  if (!isRecord(given)) report(['metadata'], 'metadata must be an object')
  else if (checkMetadata(given, ['metadata'], report)) row.metadata = given
}

function readSettings(
  row: ImportedUser,
  given: unknown,
  { report, ignored }: Omit<RowReading, 'kind'>,
): void {
  if (!isRecord(given)) {
    report(['settings'], 'settings must be an object')
    return
  }
  const known = ['theme', 'notifications_enabled']
  const settings: NonNullable<ImportedUser['settings']> = {}
  for (const [key, value] of Object.entries(given)) {
    const path = ['settings', key]
    if (key === 'theme') {
      if (typeof value === 'string') settings.theme = value
      else if (value !== null) report(path, 'settings.theme must be a string')
    } else if (key === 'notifications_enabled') {
      if (typeof value === 'boolean') settings.notifications_enabled = value
      else if (value !== null) report(path, 'settings.notifications_enabled must be true or false')
    } else if (nearest(key, known) === undefined) ignored.add(path.join('.'))
    else report(path, unknownField(key, known))
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
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    report(path, `a number must be at most ${Number.MAX_SAFE_INTEGER}: put a longer one in quotes`)
    return false
  }
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    return value.every((item, index) => checkMetadata(item, [...path, index], report))
  }
  return Object.entries(value).every(([key, inner]) => {
    const here = [...path, key]
    if (key !== '__proto__') return checkMetadata(inner, here, report)
    report(here, 'the key "__proto__" is not allowed')
    return false
  })
}

/**
 * A row with `${NAME}` in its strings replaced by environment variables. The only field that is not a string,
 * `settings.notifications_enabled`, can be a reference too.
 */
export function expandStrings(value: unknown, env: NodeJS.ProcessEnv, report: ReportFault): unknown {
  const expand = (value: unknown, path: FieldPath): unknown => {
    if (typeof value === 'string') {
      const text = expandString(value, env, (message) => report(path, message))
      return path.join('.') === 'settings.notifications_enabled' ? (parseBoolean(text) ?? text) : text
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]))
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, expand(inner, [...path, key])]),
    )
  }
  return expand(value, [])
}

/** @param report called with each reference that cannot be expanded */
export function expandString(
  value: string,
  env: NodeJS.ProcessEnv,
  report: (message: string) => void,
): string {
  if (!value.includes('${')) return value
  const { text, faults } = expandReferences(value, env)
  for (const { words } of faults) report(`the value ${words}`)
  return text
}
