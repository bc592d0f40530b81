import { isRecord } from '../../contract/exact-json.ts'
import { fieldsOf } from './known-fields.ts'
import type { UserRow } from './user-row.ts'

/**
 * A digest of a row's content, by which it is found again in a file that has grown. Formatting and
 * the order of columns do not matter. The password is left out: a journal must not help to guess one.
 */
export function rowKey(row: UserRow): string {
  const values = fieldsOf('users')
    .filter((field) => field !== 'password')
    .map((field) => canonical(row[field as keyof UserRow]))
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16)
}

/** The columns of CSV may change places, and with them the names in an object. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isRecord(value)) return value ?? null
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return fields.map(([name, inner]) => [name, canonical(inner)])
}
