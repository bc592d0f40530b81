const unitInMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** Maximum delay of a Node timer, in ms. */
const maximumDelay = 2 ** 31 - 1

/**
 * Reads `500ms`, `10s`, `5m`, `1h`; a bare number is seconds.
 *
 * @returns milliseconds, or undefined for another text
 */
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

/** An approximate duration for people: rounded up to seconds, minutes, or hours. */
export function roundDuration(ms: number): string {
  if (ms < 1_000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120 ? `${minutes}m` : `${Math.ceil(minutes / 60)}h`
}

/** A duration with two units, for cases in which hours matter: `1h 5m`, `2d 3h`. */
export function describeSpan(ms: number): string {
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
