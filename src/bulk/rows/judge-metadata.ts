import { ExactNumber } from '../../contract/exact-json.ts'
import type { FieldPath, SayFault } from './judge-row.ts'

/** What is nested deeper than this somebody's parser does not take. */
const deepest = 100

/** Whether all of it can be sent as JSON, and is then what it was. */
export function judgeMetadata(metadata: object, say: SayFault): boolean {
  return judge(metadata, ['metadata'], say)
}

function judge(value: unknown, path: FieldPath, say: SayFault): boolean {
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
    return value.every((item, index) => judge(item, [...path, index], say))
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    say(path, 'metadata must be of objects, lists, texts, numbers, true, false and null')
    return false
  }
  return Object.entries(value).every(([key, inner]) => {
    const here = [...path, key]
    if (key !== '__proto__') return judge(inner, here, say)
    say(here, '"__proto__" cannot be a key')
    return false
  })
}
