import { createRandom } from './random.ts'

const wanted = process.env['CHATCTL_TEST_SAMPLE']
export const takesAll = wanted === undefined
/** The seed of all random choices. It is printed with each sample. */
export const sampleSeed = Number(wanted ?? 1)

/** The chosen cases in their original order, and words that say how to repeat the choice. */
interface Sample<T> {
  sample: readonly T[]
  words: string
}

/** All cases, or with CHATCTL_TEST_SAMPLE=SEED a random sample. The seed is a number. */
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
  return sampleOf(
    all,
    all.filter((_, index) => chosen.has(index)),
  )
}

/**
 * A sample of tests with titles. CHATCTL_TEST_CELLS, a regular expression, selects by title: `--grep` of
 * mocha would select only the results, and every cell would still run.
 */
export function takeCells<T extends { title: string }>(all: readonly T[], size: number): Sample<T> {
  const cells = process.env['CHATCTL_TEST_CELLS']
  if (cells === undefined) return takeSample(all, size)
  const pattern = new RegExp(cells)
  const sample = all.filter(({ title }) => pattern.test(title))
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_CELLS=${cells}` }
}

/** A suite whose tests do not depend on each other. With CHATCTL_TEST_SAMPLE=SEED, it has a sample of them. */
export function describeSample(title: string, size: number, define: (this: Mocha.Suite) => void): void {
  const suite = describe(title, define)
  const all: Mocha.Test[] = []
  suite.eachTest((test) => all.push(test))
  const { sample, words } = takeSample(all, size)
  if (sample.length < all.length) suite.title += ` (${words})`
  const keepSample = (one: Mocha.Suite) => {
    one.tests = one.tests.filter((test) => sample.includes(test))
    one.suites.forEach(keepSample)
  }
  keepSample(suite)
}

function sampleOf<T>(all: readonly T[], sample: readonly T[]): Sample<T> {
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_SAMPLE=${sampleSeed}` }
}
