/** Clock hours and minutes in UTC, as whole numbers since 1970. Lengths are in ms. */
export const hourLength = 3_600_000
export const minuteLength = 60_000

export const hourOf = (ms: number): number => Math.floor(ms / hourLength)
export const minuteOf = (ms: number): number => Math.floor(ms / minuteLength)

/**
 * Whole seconds until a window ends, rounded up and at least 1, so that a client that waits for this time
 * is not too early.
 */
export const secondsLeft = (window: number, length: number, now: number): number =>
  Math.max(1, Math.ceil(((window + 1) * length - now) / 1000))

/**
 * How far a stored window may be ahead of the clock and still count: one hour. The clocks of several
 * machines differ by less. A window further ahead comes from a wrong clock and must not lock clients out.
 */
const hoursAhead = 1
const minutesAhead = 60

export interface CountRequest {
  keyId: string
  /** The number of requests; 1 or more. */
  wanted: number
  /** The current windows, by the clock of this process. */
  hour: number
  minute: number
  /** 1 or more; null for no limit. */
  hourlyLimit: number | null
  minuteLimit: number | null
}

/** How many requests were granted, and the counts of both windows after that. */
export interface CountResult {
  granted: number
  /** The window of the count: that of the request, or a later one by the clock of another machine. */
  hour: number
  hourCount: number
  minute: number
  minuteCount: number
}

/** Counts the requests of all processes on the same data together. Never grants more than a limit. */
export interface Counters {
  /** Each request must be for a different key. Results are in the order of the requests. */
  count(requests: readonly CountRequest[]): Promise<CountResult[]>
  close(): Promise<void>
}

/** Called with a problem of the counters, which continue to count. */
export type Warn = (message: string, error: unknown) => void

/** The columns that `countRequests` takes, in this order. */
export const countColumns = [
  'key_id',
  'hour',
  'hour_count',
  'minute',
  'minute_count',
  'hourly_limit',
  'minute_limit',
  'granted',
] as const

/** The row to insert for a key that has none: grants what the limits allow. */
export function firstRow({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: CountRequest) {
  const hourly = hourlyLimit ?? Number.MAX_SAFE_INTEGER
  const minutely = minuteLimit ?? Number.MAX_SAFE_INTEGER
  const granted = Math.min(wanted, hourly, minutely)
  return [keyId, hour, granted, minute, granted, hourly, minutely, granted] as const
}

const isCurrent = (window: string, ahead: number) =>
  `request_counts.${window} between excluded.${window} and excluded.${window} + ${ahead}`
const later = (window: string, ahead: number) =>
  `case when ${isCurrent(window, ahead)} then request_counts.${window} else excluded.${window} end`
const used = (window: string, ahead: number) =>
  `case when ${isCurrent(window, ahead)} then request_counts.${window}_count else 0 end`

const [hourUsed, minuteUsed] = [used('hour', hoursAhead), used('minute', minutesAhead)]

/**
 * SQL that counts requests in both windows or in neither. It is one statement, so that two processes
 * cannot use the same remainder. A refused request costs nothing.
 * @param rows SQL of the rows to insert
 * @param min the SQL function for the smaller of two values: the engines differ only in these names
 * @param max the SQL function for the larger one
 */
export function countRequests(rows: string, min: string, max: string): string {
  const left = `${min}(excluded.hourly_limit - (${hourUsed}), excluded.minute_limit - (${minuteUsed}))`
  const granted = `${max}(0, ${min}(excluded.granted, ${left}))`
  return `insert into request_counts (${countColumns.join(', ')}) ${rows}
    on conflict (key_id) do update set
      hour = ${later('hour', hoursAhead)},
      hour_count = (${hourUsed}) + ${granted},
      minute = ${later('minute', minutesAhead)},
      minute_count = (${minuteUsed}) + ${granted},
      hourly_limit = excluded.hourly_limit,
      minute_limit = excluded.minute_limit,
      granted = ${granted}
    returning granted, hour, hour_count as "hourCount", minute, minute_count as "minuteCount"`
}
