import { AsyncLocalStorage } from 'node:async_hooks'

/** How the system clock is wrong during one run. */
export type WrongClock = 'ahead' | '1970' | 'jumps back' | 'jumps ahead'

const RightDate = globalThis.Date
const year = 365 * 86_400_000

/** Milliseconds to add, given the milliseconds since the start. */
const shifts: Record<WrongClock, (elapsed: number, started: number) => number> = {
  ahead: () => 10 * year,
  1970: (_, started) => 1_000 - started,
  'jumps back': (elapsed) => (elapsed > 60 ? -3_600_000 : 0),
  'jumps ahead': (elapsed) => (elapsed > 60 ? 86_400_000 : 0),
}

const wrong = new AsyncLocalStorage<{ how: WrongClock; started: number }>()

function now(): number {
  const right = RightDate.now()
  const run = wrong.getStore()
  return run === undefined ? right : right + shifts[run.how](right - run.started, run.started)
}

class ShiftedDate extends RightDate {
  constructor(...given: [] | [number]) {
    super(...(given.length === 0 ? ([now()] as const) : given))
  }

  static override now(): number {
    return now()
  }

  // The dates of files are not created by this class.
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.toString.call(value) === '[object Date]'
  }
}

/**
 * Lets runs have wrong clocks. Only the wall clock changes; timers and performance.now() continue as they do
 * when a user sets the clock.
 *
 * @returns restores the clock
 */
export function pretendClocks(): () => void {
  globalThis.Date = ShiftedDate as DateConstructor
  return () => {
    globalThis.Date = RightDate
  }
}

/** Runs a function, and everything that it starts, with a wrong clock. */
export function withClock<T>(how: WrongClock | undefined, run: () => T): T {
  return how === undefined ? run() : wrong.run({ how, started: RightDate.now() }, run)
}
