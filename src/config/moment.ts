import { parseDuration } from './duration.ts'

const day = 86_400_000

/**
 * Reads a moment of the past: an ISO 8601 date (that day's start in UTC) or time, or how long ago it
 * was, in days (`7d`) or as a duration (`24h`).
 *
 * @returns milliseconds since 1970, or undefined where the text is none of these
 */
export function parseMoment(text: string, now: number): number | undefined {
  const trimmed = text.trim()
  const days = /^(\d+(?:\.\d+)?)d$/.exec(trimmed)?.[1]
  // A bare number could be a year, or seconds.
  const ago = days === undefined ? parseDuration(/[a-z]$/.test(trimmed) ? trimmed : '') : Number(days) * day
  if (ago !== undefined) return now - ago
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.test(trimmed)) return undefined
  const time = Date.parse(trimmed)
  return Number.isNaN(time) ? undefined : time
}
