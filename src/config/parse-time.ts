import { parseDuration } from './duration.ts'

const day = 86_400_000

/** The last millisecond with a four-digit year. */
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Reads a time in the past: an ISO 8601 date (start of the day in UTC) or time, or the time since then in
 * days (`7d`) or as a duration (`24h`).
 *
 * @returns milliseconds since 1970, or undefined for another text
 */
export function parsePastTime(text: string, now: number): number | undefined {
  const ago = parsePeriod(text)
  return ago === undefined ? parseDate(text) : now - ago
}

/** Reads a time in the future: `30d` is in 30 days. */
export function parseFutureTime(text: string, now: number): number | undefined {
  const ahead = parsePeriod(text)
  const end = ahead === undefined ? parseDate(text) : now + ahead
  return end === undefined || end > lastMoment ? undefined : end
}

/** Reads days (`7d`) or a duration (`24h`). @returns milliseconds, or undefined for another text */
export function parsePeriod(text: string): number | undefined {
  const trimmed = text.trim()
  const days = /^(\d+(?:\.\d+)?)d$/.exec(trimmed)?.[1]
  // A number without a unit is ambiguous: a year, or seconds.
  return days === undefined ? parseDuration(/[a-z]$/.test(trimmed) ? trimmed : '') : Number(days) * day
}

function parseDate(text: string): number | undefined {
  const trimmed = text.trim()
  // Date.parse accepts February 30 as a day in March.
  const [year = 0, month = 0, date = 0] = trimmed.slice(0, 10).split('-').map(Number)
  if (new Date(Date.UTC(year, month - 1, date)).getUTCDate() !== date) return undefined
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.test(trimmed)) return undefined
  const time = Date.parse(trimmed)
  return Number.isNaN(time) ? undefined : time
}
