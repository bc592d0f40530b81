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
