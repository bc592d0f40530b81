import { randomFillSync } from 'node:crypto'

/** Crockford's base 32, in lower case: no i, l, o, u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** Random bytes asked for at once: asking costs more than the bytes. */
const supply = Buffer.alloc(1000)
let used = supply.length

function takeRandom(): Buffer {
  if (used === supply.length) {
    randomFillSync(supply)
    used = 0
  }
  used += 10
  return supply.subarray(used - 10, used)
}

/** 40 bits, 8 characters. */
const half = 2 ** 40

let lastTime = 0
let high = 0
let low = 0

/**
 * A new identifier, `usr_01jd…`: 48 bits of time in ms and 80 random bits, so that identifiers
 * sort by when they were made. Within one process and one ms they still count upwards.
 */
export function createId(kind: 'usr' | 'ctx' | 'msg' | 'key' | 'req' | 'chatcmpl'): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    const random = takeRandom()
    // One bit less, so that there is always room to count.
    high = Math.floor(random.readUIntBE(0, 5) / 2)
    low = random.readUIntBE(5, 5)
  } else {
    low += 1
    if (low === half) {
      low = 0
      high += 1
    }
  }
  return `${kind}_${encode(lastTime, 10)}${encode(high, 8)}${encode(low, 8)}`
}

/** So many characters, 5 bits each. */
function encode(value: number, length: number): string {
  let text = ''
  let rest = value
  for (let left = length; left > 0; left--) {
    text = `${alphabet[rest % 32]}${text}`
    rest = Math.floor(rest / 32)
  }
  return text
}
