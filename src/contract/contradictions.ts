import { canonicalJson, isRecord } from './notation/exact-json.ts'
import { userIn } from './resources/user.ts'

/** A field, by its dotted path, that has another value than expected, before a change or after it. */
export interface Mismatch {
  path: string
  expected: unknown
  found: unknown
}

/**
 * The fields that the response to a change shows with another value than the one that was sent. The interface does not
 * show the response (docs/interface.md, "Endpoints", rule 3), so a field that it lacks, or has in another type, proves
 * nothing.
 */
export function contradictionsIn(sent: object, body: unknown, above = ''): Mismatch[] {
  const received = above === '' ? userIn(body) : body
  if (!isRecord(received)) return []
  return Object.entries(sent).flatMap(([name, expected]: [string, unknown]) => {
    const found = Object.hasOwn(received, name) ? received[name] : null
    const path = above + name
    if (expected === undefined || found === null) return []
    if (isRecord(expected)) return contradictionsIn(expected, found, `${path}.`)
    return isRecord(found) || isShown(path, expected, found) ? [] : [{ path, expected, found }]
  })
}

function isShown(path: string, expected: unknown, found: unknown): boolean {
  if (Array.isArray(expected) && Array.isArray(found)) {
    const texts = new Set(found.map(canonicalJson))
    const hasAll = expected.every((item) => texts.has(canonicalJson(item)))
    if (path !== 'permissions') return hasAll && found.length === expected.length
    // A service may add permissions to those that the user has, and may show them in another notation.
    return hasAll || found.some(isRecord)
  }
  if (Array.isArray(expected) || Array.isArray(found)) return true
  // A service may store emails in lower case.
  if (path === 'email') return String(expected).toLowerCase() === String(found).toLowerCase()
  return canonicalJson(expected) === canonicalJson(found)
}
