import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Counters, CountRequest, CountResult } from '../../../src/service/store/counters.ts'

export const noWarning = (message: string, error: unknown) => {
  throw new Error(message, { cause: error })
}

export const ask = (given: Partial<CountRequest> = {}): CountRequest => ({
  keyId: 'k',
  wanted: 1,
  hour: 100,
  minute: 6_000,
  hourlyLimit: 5,
  minuteLimit: 1_000,
  ...given,
})

/** The simplest implementation of the same behavior. */
class Model {
  readonly #windows = new Map<string, { at: number; count: number }>()

  take({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: CountRequest): CountResult {
    const hours = this.#window(`${keyId} hour`, hour, 1)
    const minutes = this.#window(`${keyId} minute`, minute, 60)
    let granted = 0
    while (
      granted < wanted &&
      (hourlyLimit === null || hours.count < hourlyLimit) &&
      (minuteLimit === null || minutes.count < minuteLimit)
    ) {
      granted += 1
      hours.count += 1
      minutes.count += 1
    }
    return { granted, hour: hours.at, hourCount: hours.count, minute: minutes.at, minuteCount: minutes.count }
  }

  #window(name: string, now: number, tolerance: number) {
    let window = this.#windows.get(name)
    if (!window || window.at < now || window.at > now + tolerance) window = { at: now, count: 0 }
    this.#windows.set(name, window)
    return window
  }
}

const limit = fc.option(fc.integer({ min: 1, max: 12 }), { nil: null })
const anyAsk = fc.record({
  wanted: fc.integer({ min: 1, max: 8 }),
  hour: fc.integer({ min: 100, max: 104 }),
  minute: fc.oneof(fc.integer({ min: 6_000, max: 6_003 }), fc.integer({ min: 6_000, max: 6_130 })),
  hourlyLimit: limit,
  minuteLimit: limit,
})
/** Turns, each with at most one request of a key. */
const turns = fc.array(
  fc
    .uniqueArray(fc.constantFrom('a', 'b', "it's c"), { minLength: 1 })
    .chain((keys) => fc.tuple(...keys.map((keyId) => anyAsk.map((given) => ({ keyId, ...given }))))),
  { minLength: 1, maxLength: 25 },
)

export async function agreesWithModel(
  open: () => Promise<{ counters: Counters[]; close(): Promise<void> }>,
  numRuns: number,
) {
  await fc.assert(
    fc.asyncProperty(turns, async (asked) => {
      const { counters, close } = await open()
      try {
        const model = new Model()
        for (const [index, asks] of asked.entries()) {
          const expected = asks.map((one) => model.take(one))
          expect(await counters[index % counters.length]?.count(asks)).to.deep.equal(expected)
        }
      } finally {
        await close()
      }
    }),
    { numRuns },
  )
}
