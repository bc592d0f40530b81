/** Time and randomness, which tests replace. All values are in milliseconds. */
export interface Clock {
  /** Unix time. It jumps when the clock of the system is set. */
  now(): number
  /** Never decreases; for durations. */
  monotonic(): number
  /** In [0, 1). */
  random(): number
  /** Rejects with `signal.reason` as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Not `performance.now`, which loads the performance API of Node.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const stop = () => {
        stopTimer()
        reject(signal?.reason)
      }
      const stopTimer = startTimer(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      signal?.addEventListener('abort', stop, { once: true })
    }),
}

/** The current time in ISO 8601. */
export const isoNow = (clock: Pick<Clock, 'now'>): string => new Date(clock.now()).toISOString()

/** A later time in ISO 8601. One beyond the range of dates is limited to it. */
export const isoAfter = (now: number, ms: number): string =>
  new Date(Math.min(now + ms, Date.UTC(9999, 0))).toISOString()

/** Node fires a timer with a longer delay immediately. */
const longestTimer = 2 ** 31 - 1

/**
 * Runs a function after any number of milliseconds, or never after Infinity.
 * @returns a function that cancels the timer
 */
export function startTimer(ms: number, run: () => void): () => void {
  let left = ms
  let timer: NodeJS.Timeout
  const next = () => {
    const step = Math.min(left, longestTimer)
    left -= step
    timer = setTimeout(left > 0 ? next : run, step)
  }
  next()
  return () => clearTimeout(timer)
}

/** A duration for a person: `250 ms`, `12 s`, `3 min`, `1 h 5 min`. */
export function describeDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const rest = minutes % 60
  return rest === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${rest} min`
}
