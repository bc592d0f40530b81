import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { mapInOrder } from '../../../src/bulk/send/concurrency.ts'
import { reasonOf } from '../../client/capture.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

async function collect<T>(results: AsyncIterable<T>, onEach?: () => Promise<void>): Promise<T[]> {
  const all: T[] = []
  for await (const result of results) {
    all.push(result)
    await onEach?.()
  }
  return all
}

describe('mapping items concurrently and in order', () => {
  it('keeps the order, the concurrency, and the maximum distance, with any delays', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ source: fc.nat(5), work: fc.nat(50), taker: fc.nat(20) }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 12 }),
        fc.boolean(),
        async (delays, concurrency, isAsync) => {
          const clock = new SteppedClock()
          let [running, mostRunning, begun, taken, farthest] = [0, 0, 0, 0, 0]
          const items = async function* () {
            for (const [index, { source }] of delays.entries()) {
              if (source > 0) await clock.sleep(source)
              yield index
            }
          }
          const work = async (index: number) => {
            mostRunning = Math.max(mostRunning, ++running)
            farthest = Math.max(farthest, ++begun - taken)
            await clock.sleep(delays[index]?.work ?? 0)
            running--
            return index
          }
          const results = mapInOrder(isAsync ? items() : delays.keys(), concurrency, work)
          const all = await clock.run(collect(results, () => clock.sleep(delays[taken++]?.taker ?? 0)))
          expect(all).to.deep.equal([...delays.keys()])
          expect(mostRunning).to.be.at.most(concurrency)
          // The result that has just been passed on does not count as taken yet.
          expect(farthest).to.be.at.most(4 * concurrency + 1)
        },
      ),
      { numRuns: 200 },
    ))

  it('runs as many at a time as concurrency says', async () => {
    const clock = new SteppedClock()
    const begin = clock.now()
    await clock.run(collect(mapInOrder(Array(40).keys(), 8, () => clock.sleep(100))))
    expect(clock.now() - begin).to.equal(500)
  })

  it('yields the results before a failure, and starts nothing after it', async () => {
    const clock = new SteppedClock()
    const begun: number[] = []
    const seen: number[] = []
    const results = mapInOrder(Array(100).keys(), 4, async (item) => {
      begun.push(item)
      await clock.sleep(item === 2 ? 10 : 50)
      if (item === 2) throw new Error('two')
      return item
    })
    const reading = (async () => {
      for await (const result of results) seen.push(result)
    })()
    expect(await reasonOf(clock.run(reading)))
      .to.be.an('error')
      .with.property('message', 'two')
    expect(seen).to.deep.equal([0, 1])
    expect(begun).to.deep.equal([0, 1, 2, 3])
  })

  it('rethrows a failure of the source after the results before it', async () => {
    const source = (async function* () {
      yield 1
      yield 2
      throw new Error('broken')
    })()
    const seen: number[] = []
    const reading = (async () => {
      for await (const result of mapInOrder(source, 3, async (item) => item)) seen.push(result)
    })()
    expect(await reasonOf(reading)).to.have.property('message', 'broken')
    expect(seen).to.deep.equal([1, 2])
  })

  it('yields finished results while the source waits', async () => {
    const gate = Promise.withResolvers<void>()
    const source = (async function* () {
      yield 1
      await gate.promise
      yield 2
    })()
    const results = mapInOrder(source, 3, async (item) => item)[Symbol.asyncIterator]()
    expect(await results.next()).to.deep.equal({ done: false, value: 1 })
    gate.resolve()
    expect(await results.next()).to.deep.equal({ done: false, value: 2 })
    expect(await results.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('does not wait for a slow source after a failure', async () => {
    const source = (async function* () {
      yield 1
      await new Promise(() => {})
    })()
    const results = mapInOrder(source, 3, async () => {
      await turn()
      throw new Error('one')
    })
    expect(await reasonOf(collect(results))).to.have.property('message', 'one')
  })

  it('closes the source when the reader stops', async () => {
    let isClosed = false
    const source = (function* () {
      try {
        for (let index = 0; ; index++) yield index
      } finally {
        isClosed = true
      }
    })()
    for await (const result of mapInOrder(source, 2, async (item) => item)) if (result === 5) break
    expect(isClosed).to.equal(true)
  })
})
