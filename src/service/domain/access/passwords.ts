import { randomBytes } from '../../../system/random-bytes.ts'
import { ApiError } from '../../api-error.ts'
import { loadArgon2 } from './argon2.ts'

/** In characters. */
export const passwordLength = { min: 8, max: 1024 } as const

/** RFC 9106 section 4, second recommended option, reduced to suit a server: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** At most two hashes at once, and 64 that wait, so that a flood of sign-ins does not use all threads. */
const limitHashing = createConcurrencyLimit(2, 64)

/** The argon2id hash of a password in PHC string format. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await loadArgon2()
  return limitHashing(() => hash(password, cost))
}

/**
 * A hash at the same cost for users who do not exist. Its value is random, so no known password matches.
 * It is composed and not computed, so that it is always available.
 */
function composeHash(): string {
  const base64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '')
  const { memoryCost, timeCost, parallelism } = cost
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${base64(16)}$${base64(32)}`
}

/**
 * Whether a password matches a hash. Without a hash it takes as long, so that the time does not reveal
 * who has an account.
 * @throws ApiError `too_busy`
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const { verify } = await loadArgon2()
  return (await limitHashing(() => verify(stored ?? composeHash(), password))) && stored !== null
}

/**
 * Limits how many tasks run at once; the others wait in order.
 * @throws ApiError `too_busy` if the maximum number of tasks wait
 */
function createConcurrencyLimit(
  maxRunning: number,
  maxWaiting: number,
): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting) {
        throw new ApiError('too_busy', 'Too many passwords are being checked', { retryAfter: 1 })
      }
      // A task that ends passes its place on, so `running` does not change.
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
