import { randomBytes } from 'node:crypto'

/** Crockford's base 32, in lower case: no i, l, o, u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** The two digits of each 10-bit number. */
const pairs = Array.from({ length: 1024 }, (_, value) => `${alphabet[value >> 5]}${alphabet[value & 31]}`)

let lastTime = 0
let timeDigits = ''
/** 80 bits, 20 in each, the most significant first. */
const random = [0, 0, 0, 0]

/**
 * A new identifier, `usr_01jd…`: 48 bits of time in ms and 80 random bits, so that identifiers
 * sort by creation time. Within one process and one ms, they count upwards.
 */
export function createId(kind: 'usr' | 'ctx' | 'msg' | 'key' | 'tru' | 'req' | 'chatcmpl'): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    timeDigits = digitsOf(Math.floor(now / 2 ** 40)).slice(2) + digitsOf(now / 2 ** 20) + digitsOf(now)
    for (const index of random.keys()) random[index] = random20()
    // Counting upwards must not run out of digits.
    random[0] = (random[0] ?? 0) >> 1
  } else {
    countUp()
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = random
  return `${kind}_${timeDigits}${digitsOf(first)}${digitsOf(second)}${digitsOf(third)}${digitsOf(fourth)}`
}

/** Bytes for many identifiers, because each read of the system's has a price. */
let pool: Buffer = Buffer.alloc(0)

/** 20 random bits. */
function random20(): number {
  if (pool.length < 3) pool = randomBytes(1200)
  const bits = pool.readUIntBE(0, 3) % 2 ** 20
  pool = pool.subarray(3)
  return bits
}

function countUp(): void {
  for (let index = 3; index >= 0; index--) {
    const next = ((random[index] ?? 0) + 1) % 2 ** 20
    random[index] = next
    if (next !== 0) return
  }
}

/** The four digits of the lowest 20 bits. */
function digitsOf(value: number): string {
  const bits = value % 2 ** 20
  return `${pairs[bits >> 10]}${pairs[bits & 1023]}`
}
