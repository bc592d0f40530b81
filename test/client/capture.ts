import { Failure } from '../../src/contract/failure.ts'
import type { Clock } from '../../src/system/clock.ts'

/** The failure that a promise ends in; anything else fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) throw new Error(`it succeeded with ${JSON.stringify(outcome.value)}`)
  if (outcome.error instanceof Failure) return outcome.error
  throw new Error('it ended in something that is no Failure', { cause: outcome.error })
}

/** What a promise rejects with, whatever it is. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error(`it succeeded with ${JSON.stringify(outcome.value)}`)
}

/** A clock on which waiting takes no time; `waits` are the milliseconds slept. */
export function hurriedClock(random = 0.5): Clock & { waits: number[] } {
  const waits: number[] = []
  let now = Date.now()
  return {
    waits,
    now: () => now,
    monotonic: () => now,
    random: () => random,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      waits.push(ms)
      now += ms
    },
  }
}

/** Everything that an error says, its causes and fields included. */
export function everythingIn(error: unknown): string {
  const seen = new Set<unknown>()
  const parts: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value === 'string') parts.push(value)
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const key of Reflect.ownKeys(value)) visit(Reflect.get(value, key))
  }
  visit(error)
  return parts.join('\n')
}
