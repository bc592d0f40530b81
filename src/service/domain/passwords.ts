import { createGate } from './gate.ts'

/** RFC 9106 section 4, second recommended option scaled to a server's share: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** At most two hashes at once, and 64 that wait: a flood of sign-ins leaves the service its threads. */
const gate = createGate(2, 64)

/** The argon2id hash of a password in PHC form. The native module is loaded on first use. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return gate(() => hash(password, cost))
}

/** A hash that no password has, for users who are not there: made once, at the same cost. */
let nobody: Promise<string> | undefined

/**
 * Whether a password is the one of a hash. It takes as long where there is no hash, so that the
 * time does not tell who has an account.
 * @throws Refusal `too_busy`
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const { verify } = await import('@node-rs/argon2')
  nobody ??= hashPassword(crypto.randomUUID())
  const known = stored ?? (await nobody)
  return (await gate(() => verify(known, password))) && stored !== null
}
