/** The value that bytes hold as JSON in UTF-8 (a byte order mark is ignored); undefined where they hold none. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** Whether lists and objects are nested in more levels than that. It goes no deeper itself. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner))
}

/** The same value, with a note in the place of what is nested in more levels than that. */
export function cutDeeperThan(levels: number, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '[nested too deep]'
  if (Array.isArray(value)) return value.map((inner) => cutDeeperThan(levels - 1, inner))
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, cutDeeperThan(levels - 1, inner)]),
  )
}

/** A JSON object, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
