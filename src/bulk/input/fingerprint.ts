/**
 * 64 bits of a text, as two numbers of 32. Equal texts have the same; different ones hardly ever do.
 * @param seed tells fields apart
 */
export type Fingerprint = (text: string, seed: number, into: Uint32Array) => void

/** Quick, and not for secrets: whoever wants to can make two texts that share one. */
export const fingerprintOf: Fingerprint = (text, seed, into) => {
  let high = 0x2545f491 ^ seed
  let low = 0x6c078965 + seed
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul((low << 5) ^ (low >>> 27) ^ unit, 0x9e3779b1)
  }
  high = mix(high ^ text.length)
  low = mix(low ^ high)
  into[0] = high
  into[1] = low
}

/** Spreads each bit over all: the table takes its places from the upper ones. */
function mix(value: number): number {
  const half = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d)
  const whole = Math.imul(half ^ (half >>> 13), 0x297a2d39)
  return whole ^ (whole >>> 16)
}
