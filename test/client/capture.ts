import { Failure } from '../../src/contract/failure.ts'
import type { Clock } from '../../src/system/clock.ts'

/** The failure that a promise rejects with. Any other outcome throws. */
export async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) throw new Error(`it succeeded with ${JSON.stringify(outcome.value)}`)
  if (outcome.error instanceof Failure) return outcome.error
  throw new Error('it ended in something that is no Failure', { cause: outcome.error })
}

/** The reason that a promise rejects with. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error
  throw new Error(`it succeeded with ${JSON.stringify(outcome.value)}`)
}

/** A clock on which waits take no time. `waits` lists the milliseconds slept. */
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

/** All strings in an error, including its causes and fields. */
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
