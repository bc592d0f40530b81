/** Mulberry32: a number in [0, 1) for each call, the same sequence for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A number in [0, 1) that depends only on the words and the seed. */
export function drawFor(words: string, seed: number): number {
  return createRandom(seed ^ hashOf(words))()
}

/** FNV-1a, 32 bits. */
export function hashOf(words: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(words)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}
