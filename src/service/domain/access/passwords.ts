/** RFC 9106 section 4, second recommended option, reduced to suit a server: 19 MiB, two passes. */
export const passwordCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The argon2id hash of a password in PHC string format. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await loadArgon2()
  return hash(password, passwordCost)
}

/**
 * A hash at the same cost for users who do not exist. Its value is random, so no known password matches.
 * It is composed and not computed, so that it is always available.
 */
function composeHash(): string {
  const { randomBytes } = process.getBuiltinModule('node:crypto')
  return phcString(passwordCost, randomBytes(16), randomBytes(32))
}

/**
 * Whether a password matches a hash. Without a hash it takes as long, so that the time does not reveal
 * who has an account.
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const { verify } = await loadArgon2()
  return (await verify(stored ?? composeHash(), password)) && stored !== null
}

interface Cost {
  /** In KiB. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

/** Argon2id. Hashes are in PHC string format. */
interface Argon2 {
  hash(password: string, cost: Cost): Promise<string>
  /** @throws if the hash is not one of this module */
  verify(hash: string, password: string): Promise<boolean>
}

/** The native package, which is three times as fast, or Node's function in an executable, which lacks the package. */
export async function loadArgon2(): Promise<Argon2> {
  try {
    return await import('@node-rs/argon2')
  } catch (error) {
    // Node has the function since 24.7.
    if (!('argon2' in process.getBuiltinModule('node:crypto'))) throw error
    return nodeArgon2
  }
}

/** With the same format as the native package. */
export const nodeArgon2: Argon2 = {
  hash: async (password, cost) => {
    const nonce = process.getBuiltinModule('node:crypto').randomBytes(16)
    const key = await derive(password, { ...cost, nonce, tagLength: 32 })
    return phcString(cost, nonce, key)
  },
  verify: async (hash, password) => {
    const [, memory, time, lanes, salt = '', stored = ''] = phc.exec(hash) ?? []
    if (!stored) throw new Error('not an argon2id hash')
    const expected = Buffer.from(stored, 'base64')
    const key = await derive(password, {
      memoryCost: Number(memory),
      timeCost: Number(time),
      parallelism: Number(lanes),
      nonce: Buffer.from(salt, 'base64'),
      tagLength: expected.length,
    })
    return process.getBuiltinModule('node:crypto').timingSafeEqual(key, expected)
  },
}

const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function phcString({ memoryCost, timeCost, parallelism }: Cost, salt: Buffer, key: Buffer): string {
  // The format requires base64 without padding.
  const [shownSalt, shownKey] = [salt, key].map((bytes) => bytes.toString('base64').replaceAll('=', ''))
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${shownSalt}$${shownKey}`
}

function derive(
  message: string,
  { memoryCost: memory, timeCost: passes, ...rest }: Cost & { nonce: Buffer; tagLength: number },
): Promise<Buffer> {
  const { argon2 } = process.getBuiltinModule('node:crypto')
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, memory, passes, ...rest }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
