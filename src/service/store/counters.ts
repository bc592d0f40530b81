/** Clock hours and minutes, UTC, as whole numbers since 1970: they count up by one. */
export const hourLength = 3_600_000
export const minuteLength = 60_000

export const hourOf = (ms: number): number => Math.floor(ms / hourLength)
export const minuteOf = (ms: number): number => Math.floor(ms / minuteLength)

/**
 * Whole seconds until a window is over, rounded up and at least 1: whoever waits for so long does
 * not come too early.
 */
export const secondsLeft = (window: number, length: number, now: number): number =>
  Math.max(1, Math.ceil(((window + 1) * length - now) / 1000))

/**
 * How far ahead of a clock a stored window may be, so that it still counts: one hour. Clocks of
 * several machines differ by less; a window further ahead was written by a clock that was wrong,
 * and must not lock anybody out until then.
 */
export const hoursAhead = 1
export const minutesAhead = 60

/** Requests of one key that want to be let in. */
export interface CountRequest {
  keyId: string
  /** How many; 1 or more. */
  wanted: number
  /** The windows that the asker's clock shows. */
  hour: number
  minute: number
  /** 1 or more; null for no limit. */
  hourlyLimit: number | null
  minuteLimit: number | null
}

/** What came of an ask, and what the windows hold now. */
export interface CountResult {
  granted: number
  /** Where it was counted: the asker's window, or a later one that another clock has reached. */
  hour: number
  hourCount: number
  minute: number
  minuteCount: number
}

/** What all processes on the same data count in together. Never more than a limit is granted. */
export interface Counters {
  /** Answers are in the order of the asks, which are for a different key each. */
  count(requests: readonly CountRequest[]): Promise<CountResult[]>
  close(): Promise<void>
}

/** Told of what is wrong with the counters, and does not keep them from counting. */
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

/** An ask as the row of a key that was never seen: all that the limits allow by themselves. */
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
 * Counts what is asked in both windows or in none, in one statement, so that no two processes can
 * count on the same remainder. What is refused costs nothing. `rows` is what is inserted.
 * @param min name of the function that takes the smaller of two values, `greatest` of its
 * opposite: the one thing in which the engines differ
 */
export function countRequests(rows: string, min: string, greatest: string): string {
  const left = `${min}(excluded.hourly_limit - (${hourUsed}), excluded.minute_limit - (${minuteUsed}))`
  const granted = `${greatest}(0, ${min}(excluded.granted, ${left}))`
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
