import { createHash } from 'node:crypto'
import { canonicalNumber, isNumber } from '../../contract/exact-json.ts'

/** JSON of a JSON value in one form alone: no white space, names in the order of their UTF-16 units. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isNumber(value)) return canonicalNumber(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`)
  return `{${fields.join(',')}}`
}

/** SHA-256 of the canonical JSON, 64 hex digits. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}
