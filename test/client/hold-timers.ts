interface HeldTimers {
  /** How many were started. */
  readonly started: number
  /** How many were started, and neither canceled nor fired. */
  readonly pending: number
  /** Lets the pending timers fire. */
  fire(): void
}

/** A timeout, in ms, whose timers `holdTimers` holds. No other timer has this length. */
export const heldTimeout = 77_000

/**
 * Call it inside a describe. Keeps timers of some lengths from firing before the test fires them, so that a timeout
 * neither waits nor depends on the speed of the machine.
 */
export function holdTimers(...lengths: number[]): HeldTimers {
  const { setTimeout: start, clearTimeout: cancel } = globalThis
  const held = new Map<unknown, () => void>()
  let started = 0
  beforeEach(() => {
    started = 0
    globalThis.setTimeout = Object.assign((...args: Parameters<typeof start>) => {
      if (!lengths.includes(args[1] ?? 0)) return start(...args)
      const timer = start(() => {}, 2 ** 31 - 1)
      held.set(timer, () => args[0]())
      started++
      return timer
    }, start)
    globalThis.clearTimeout = (timer) => {
      held.delete(timer)
      cancel(timer)
    }
  })
  afterEach(() => {
    for (const timer of held.keys()) cancel(timer as NodeJS.Timeout)
    held.clear()
    Object.assign(globalThis, { setTimeout: start, clearTimeout: cancel })
  })
  return {
    get started() {
      return started
    },
    get pending() {
      return held.size
    },
    fire() {
      for (const [timer, run] of [...held]) {
        clearTimeout(timer as NodeJS.Timeout)
        run()
      }
    },
  }
}
