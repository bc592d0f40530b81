import { isRecord } from '../../contract/notation/exact-json.ts'

export type JsonObject = Record<string, unknown>

/**
 * Merges `patch` into `base` at every depth. A key that `patch` does not have keeps its value; an array is
 * replaced as a whole.
 */
export function merge<T extends object>(base: T, patch: object): T {
  const merged = { ...base } as JsonObject
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const old = merged[key]
    merged[key] = isRecord(old) && isRecord(value) ? merge(old, value) : value
  }
  return merged as T
}
