const segmentBits = 6
const smallest = 64
const growth = 1.5
const fullest = 0.8

interface Segment {
  /** Two for each place; two zeros are a free one. */
  slots: Uint32Array
  used: number
}

/**
 * A set of 64-bit fingerprints at 8 bytes a place. Its segments grow one by one, so that it is never
 * held twice.
 */
export class FingerprintTable {
  size = 0
  readonly #segments: Segment[] = Array.from({ length: 1 << segmentBits }, () => ({
    slots: new Uint32Array(smallest * 2),
    used: 0,
  }))

  /** @returns false where it was there before */
  add(high: number, low: number): boolean {
    const segment = this.#segmentOf(high)
    if ((segment.used + 1) * 2 > segment.slots.length * fullest) grow(segment)
    if (!put(segment.slots, high, low)) return false
    segment.used++
    this.size++
    return true
  }

  has(high: number, low: number): boolean {
    const { slots } = this.#segmentOf(high)
    const at = find(slots, high, low)
    return slots[at] !== 0 || slots[at + 1] !== 0
  }

  #segmentOf(high: number): Segment {
    return this.#segments[high >>> (32 - segmentBits)] as Segment
  }
}

/** Where it is, or would be. Two zeros are no fingerprint. */
function find(slots: Uint32Array, high: number, low: number): number {
  const capacity = slots.length / 2
  let at = Math.floor((low / 2 ** 32) * capacity) * 2
  for (;;) {
    const [foundHigh, foundLow] = [slots[at], slots[at + 1]]
    if ((foundHigh === 0 && foundLow === 0) || (foundHigh === high && foundLow === low)) return at
    at += 2
    if (at === slots.length) at = 0
  }
}

function put(slots: Uint32Array, high: number, low: number): boolean {
  const at = find(slots, high, low)
  if (slots[at] !== 0 || slots[at + 1] !== 0) return false
  slots[at] = high
  slots[at + 1] = low
  return true
}

function grow(segment: Segment): void {
  const { slots } = segment
  const larger = new Uint32Array(Math.ceil((slots.length / 2) * growth) * 2)
  for (let at = 0; at < slots.length; at += 2) {
    const [high = 0, low = 0] = [slots[at], slots[at + 1]]
    if (high !== 0 || low !== 0) put(larger, high, low)
  }
  segment.slots = larger
}
