import { createRandom } from './random.ts'

const wanted = process.env['CHATCTL_TEST_SAMPLE']
/** Whether this run leaves nothing out. */
export const takesAll = wanted === undefined
/** What chooses, also among moments and other draws; printed with each sample. */
export const sampleSeed = Number(wanted ?? 1)

/** What was taken, in its first order, and words that say how to have it again. */
interface Sample<T> {
  sample: readonly T[]
  words: string
}

/** All of many cases, or with CHATCTL_TEST_SAMPLE=SEED some: the seed, a number, chooses which. */
export function takeSample<T>(all: readonly T[], size: number): Sample<T> {
  if (takesAll || all.length <= size) return { sample: all, words: `all ${all.length}` }
  const random = createRandom(sampleSeed)
  const chosen = new Set(
    all
      .map((_, index) => ({ index, order: random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, size)
      .map(({ index }) => index),
  )
  return describeSample(
    all,
    all.filter((_, index) => chosen.has(index)),
  )
}

/**
 * The same for tests with titles. CHATCTL_TEST_CELLS, a regular expression, takes those whose titles
 * match: mocha's `--grep` would select the results, but every cell would still run.
 */
export function takeCells<T extends { title: string }>(all: readonly T[], size: number): Sample<T> {
  const cells = process.env['CHATCTL_TEST_CELLS']
  if (cells === undefined) return takeSample(all, size)
  const pattern = new RegExp(cells)
  const sample = all.filter(({ title }) => pattern.test(title))
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_CELLS=${cells}` }
}

function describeSample<T>(all: readonly T[], sample: readonly T[]): Sample<T> {
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_SAMPLE=${sampleSeed}` }
}
