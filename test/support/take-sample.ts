import { createRandom } from './random.ts'

/** What was taken, in its first order, and words that say how to have it again. */
interface Sample<T> {
  sample: readonly T[]
  words: string
}

/**
 * Some of many cases, for tests that are too slow to run whole every time. CHATCTL_TEST_FULL=1
 * takes all; otherwise a seed decides, which CHATCTL_TEST_SEED sets.
 */
export function takeSample<T>(all: readonly T[], size: number): Sample<T> {
  if (takesAll || all.length <= size) return { sample: all, words: `all ${all.length}` }
  const random = createRandom(seed)
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
  const wanted = process.env['CHATCTL_TEST_CELLS']
  if (wanted === undefined) return takeSample(all, size)
  const pattern = new RegExp(wanted)
  const sample = all.filter(({ title }) => pattern.test(title))
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_CELLS=${wanted}` }
}

/** One case of each group, and so of each command or the like at least one. */
export function takeOneOfEach<T>(all: readonly T[], groupOf: (one: T) => string): Sample<T> {
  if (takesAll) return { sample: all, words: `all ${all.length}` }
  const random = createRandom(seed)
  const groups = Map.groupBy(all, groupOf)
  const sample = [...groups.values()].flatMap((cases) => cases[Math.floor(random() * cases.length)] ?? [])
  return describeSample(all, sample)
}

const takesAll = process.env['CHATCTL_TEST_FULL'] === '1'
const seed = Number(process.env['CHATCTL_TEST_SEED'] ?? Date.now() % 1_000_000)

function describeSample<T>(all: readonly T[], sample: readonly T[]): Sample<T> {
  return { sample, words: `${sample.length} of ${all.length}, CHATCTL_TEST_SEED=${seed}` }
}
