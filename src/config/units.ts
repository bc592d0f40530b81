const unitInMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** Maximum delay of a Node timer, in ms. */
const maximumDelay = 2 ** 31 - 1

/** Reads `500ms`, `10s`, `5m`, `1h`; a bare number is seconds. @returns milliseconds, or undefined for another text */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim())
  if (!match) return undefined
  const unit = (match[2] ?? 's') as keyof typeof unitInMs
  const ms = Number(match[1]) * unitInMs[unit]
  return ms <= maximumDelay ? ms : undefined
}

/** The inverse of `parseDuration`, in whole seconds if possible. */
export function formatDuration(ms: number): string {
  return ms % unitInMs.s === 0 ? `${ms / unitInMs.s}s` : `${ms}ms`
}

/** An approximate duration for people, rounded up: `250ms`, `90s`, `1h 5m`, `2d 3h`. */
export function roundDuration(ms: number): string {
  if (ms < 1_000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`
  return `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** A flag value of at least this duration: `90s`, `61m`, `2h`. */
export function durationFlagFor(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.ceil(seconds / 60)
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`
}

const day = 86_400_000

/** The last millisecond with a four-digit year. */
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Reads a time in the past: an ISO 8601 date (start of the day in UTC) or time, or the time since then in
 * days (`7d`) or as a duration (`24h`).
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

const unitInBytes = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 } as const

/**
 * Reads `500k`, `2m`, `1.5MiB`; a bare number is bytes. The units are powers of 1024.
 * @returns bytes, or undefined for another text
 */
export function parseFileSize(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,15}(?:\.\d{1,9})?)(?:([kmg])(?:i?b)?|b)?$/i.exec(text.trim()) ?? []
  if (number === undefined) return undefined
  const factor = unit === undefined ? 1 : unitInBytes[unit.toLowerCase() as keyof typeof unitInBytes]
  return Math.floor(Number(number) * factor)
}
