import * as fc from 'fast-check'

type Values = [unknown, ...unknown[]]
type Property<V extends Values, Result> = [
  ...arbitraries: { [Index in keyof V]: fc.Arbitrary<V[Index]> },
  predicate: (...values: V) => Result,
]

/** Checks a property for as many values as usual. The predicate follows the arbitraries of its values. */
export function forAll<V extends Values>(...property: Property<V, unknown>): void {
  forAllTimes(1, ...property)
}

/** The same for `factor` times as many values. */
export function forAllTimes<V extends Values>(factor: number, ...property: Property<V, unknown>): void {
  const [arbitraries, predicate] = split(property)
  fc.assert(
    fc.property(fc.tuple(...arbitraries), (values) => void predicate(...values)),
    runs(factor),
  )
}

/** The same with an asynchronous predicate. */
export function forAllAsync<V extends Values>(...property: Property<V, Promise<unknown>>): Promise<void> {
  return forAllTimesAsync(1, ...property)
}

export async function forAllTimesAsync<V extends Values>(
  factor: number,
  ...property: Property<V, Promise<unknown>>
): Promise<void> {
  const [arbitraries, predicate] = split(property)
  await fc.assert(
    fc.asyncProperty(fc.tuple(...arbitraries), async (values) => void (await predicate(...values))),
    runs(factor),
  )
}

const runs = (factor: number) => ({ numRuns: factor * (fc.readConfigureGlobal().numRuns ?? 100) })

function split<V extends Values, Result>(property: Property<V, Result>) {
  const predicate = property.at(-1) as (...values: unknown[]) => Result
  return [property.slice(0, -1) as fc.Arbitrary<unknown>[], predicate] as const
}
