/** Lets one after the other in, first come, first served. */
export interface Turns {
  /** Settles when it is the caller's turn; `pass` must follow. */
  take(): Promise<void>
  pass(): void
}

export function createTurns(): Turns {
  const waiting: (() => void)[] = []
  let taken = false
  return {
    async take() {
      if (!taken) {
        taken = true
        return
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    },
    pass() {
      const next = waiting.shift()
      if (next) next()
      else taken = false
    },
  }
}
