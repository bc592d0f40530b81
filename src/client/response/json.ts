import { ExactNumber, parseJson, tryParse } from '../../contract/notation/exact-json.ts'

const utf8 = new TextDecoder()

/** Parses JSON in UTF-8, and ignores a byte order mark. Undefined for invalid JSON. */
export function readJson(bytes: Uint8Array): unknown {
  const text = utf8.decode(bytes)
  try {
    return parseJson(text)
  } catch (error) {
    // Exact numbers are parsed by recursion. Values too deep for that are rejected by their depth.
    return error instanceof RangeError ? tryParse(text) : undefined
  }
}

/**
 * Whether lists and objects are nested deeper than a number of levels. Recurses no deeper itself. Has no closure, for
 * which each call would allocate memory.
 */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return isNested(value)
  if (Array.isArray(value)) {
    for (const inner of value) if (isDeeperThan(levels - 1, inner)) return true
    return false
  }
  for (const name in value) {
    if (isDeeperThan(levels - 1, (value as Record<string, unknown>)[name])) return true
  }
  return false
}

/** The same value, in which a note replaces everything deeper than a number of levels. */
export function cutDeeperThan(levels: number, value: unknown): unknown {
  if (!isNested(value)) return value
  if (levels === 0) return '[nested too deep]'
  if (Array.isArray(value)) return value.map((inner) => cutDeeperThan(levels - 1, inner))
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, cutDeeperThan(levels - 1, inner)]),
  )
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
}
