import { ApiError } from '../../api-error.ts'

/** How many characters a password may have. */
export const passwordLength = { min: 8, max: 1024 } as const

/** RFC 9106 section 4, second recommended option scaled to a server's share: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** At most two hashes at once, and 64 that wait: a flood of sign-ins leaves the service its threads. */
const limitHashing = createConcurrencyLimit(2, 64)

/** The argon2id hash of a password in PHC form. The native module is loaded on first use. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return limitHashing(() => hash(password, cost))
}

/**
 * A hash that no password is known to have, at the same cost, for users who are not there. It is put
 * together and not computed: there must be no moment at which it cannot be had.
 */
const unknownUserHash = (() => {
  const base64 = (bytes: number) =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)))
      .toString('base64')
      .replaceAll('=', '')
  const { memoryCost, timeCost, parallelism } = cost
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${base64(16)}$${base64(32)}`
})()

/**
 * Whether a password is the one of a hash. It takes as long where there is no hash, so that the
 * time does not tell who has an account.
 * @throws ApiError `too_busy`
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const { verify } = await import('@node-rs/argon2')
  return (await limitHashing(() => verify(stored ?? unknownUserHash, password))) && stored !== null
}

/**
 * Lets so many pieces of work run at once, and others wait in turn.
 * @param maxWaiting how many may wait
 * @throws ApiError `too_busy` where that many wait already
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
