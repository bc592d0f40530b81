import { createRandom } from './random.ts'

/**
 * Some of many cases, for tests that are too slow to run whole every time. CHATCTL_TEST_FULL=1
 * takes all; otherwise a seed decides, which CHATCTL_TEST_SEED sets.
 *
 * @returns the sample, in its first order, and words that say how to have it again
 */
export function takeSample<T>(all: readonly T[], size: number): { sample: readonly T[]; words: string } {
  if (process.env['CHATCTL_TEST_FULL'] === '1' || all.length <= size) {
    return { sample: all, words: `all ${all.length}` }
  }
  const seed = Number(process.env['CHATCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
  const random = createRandom(seed)
  const chosen = new Set(
    all
      .map((_, index) => ({ index, order: random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, size)
      .map(({ index }) => index),
  )
  const sample = all.filter((_, index) => chosen.has(index))
  return { sample, words: `${size} of ${all.length}, CHATCTL_TEST_SEED=${seed}` }
}
