import { randomBytes } from 'node:crypto'

/** The last identifier as a number: 48 bits of time in ms and 80 random bits. */
let last = 0n

/** Bytes for many identifiers, because each read of the system's has a price. */
let pool: Buffer = Buffer.alloc(0)

/**
 * A new identifier, `usr_01jd…`, in base 32 (RFC 4648 section 7), so that identifiers sort by creation time. Within
 * one process and one ms, they count upwards.
 */
export function createId(kind: 'usr' | 'ctx' | 'msg' | 'key' | 'tru' | 'req' | 'chatcmpl'): string {
  const now = BigInt(Date.now())
  last = now > last >> 80n ? (now << 80n) + random80() : last + 1n
  return `${kind}_${last.toString(32).padStart(26, '0')}`
}

function random80(): bigint {
  if (pool.length < 10) pool = randomBytes(1000)
  const bits = BigInt(`0x${pool.toString('hex', 0, 10)}`)
  pool = pool.subarray(10)
  return bits
}
