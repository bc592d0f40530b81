import { Refusal } from '../refusal.ts'

/**
 * Lets so many pieces of work run at once, and others wait in turn.
 * @param room how many may wait
 * @throws Refusal `too_busy` where that many wait already
 */
export function createGate(atOnce: number, room: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= room) {
        throw new Refusal('too_busy', 'Too many passwords are being checked', { retryAfter: 1 })
      }
      // Who ends hands its place on, so that `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running++
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
