/** RFC 9106 section 4, second recommended option scaled to a server's share: 19 MiB, two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The argon2id hash of a password in PHC form. The native module is loaded on first use. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return hash(password, cost)
}
