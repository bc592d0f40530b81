/** The last identifier as a number: 48 bits of time in ms and 80 random bits. */
let last = 0n

/**
 * A new identifier, `usr_01jd…`, in base 32 (RFC 4648 section 7), so that identifiers sort by creation time. Within
 * one process and one ms, they count upwards. An identifier is unique but no secret, so Math.random is enough, and
 * the 5 ms that node:crypto takes to load are saved.
 */
export function createId(
  kind: 'usr' | 'ctx' | 'msg' | 'key' | 'tru' | 'req' | 'chatcmpl' | 'deleted',
): string {
  const now = BigInt(Date.now())
  last = now > last >> 80n ? (now << 80n) + random80() : last + 1n
  return `${kind}_${last.toString(32).padStart(26, '0')}`
}

function random80(): bigint {
  const random40 = () => BigInt(Math.floor(Math.random() * 2 ** 40))
  return (random40() << 40n) + random40()
}
