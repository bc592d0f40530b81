import { randomBytes } from 'node:crypto'

/** Crockford's base 32, in lower case: no i, l, o, u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

let lastTime = 0
let lastRandom = 0n

/**
 * A new identifier, `usr_01jd…`: 48 bits of time in ms and 80 random bits, so that identifiers
 * sort by when they were made. Within one process and one ms they still count upwards.
 */
export function createId(kind: 'usr' | 'ctx' | 'msg' | 'key' | 'req' | 'chatcmpl'): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    lastRandom = BigInt(`0x${randomBytes(10).toString('hex')}`) >> 1n
  } else {
    lastRandom += 1n
  }
  return `${kind}_${encode((BigInt(lastTime) << 80n) | lastRandom)}`
}

function encode(value: bigint): string {
  let text = ''
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += alphabet[Number((value >> shift) & 31n)]
  return text
}
