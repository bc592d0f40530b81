export type Plain = Record<string, unknown>

/** Whether a value has keys: an object of JSON, and no list. */
export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `patch` laid over `base`, key by key at every depth: a key that is not named keeps its value, an
 * array is replaced whole.
 */
export function merge<T extends object>(base: T, patch: object): T {
  const merged = { ...base } as Plain
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const old = merged[key]
    merged[key] = isPlain(old) && isPlain(value) ? merge(old, value) : value
  }
  return merged as T
}
