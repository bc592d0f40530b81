import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { mapInOrder, runRows } from '../../../src/bulk/send/concurrency.ts'
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

const { signal } = new AbortController()

describe('running the rows of an import', () => {
  it('runs each row once, in order, with limited concurrency', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(50), { maxLength: 40 }),
        fc.integer({ min: 1, max: 10 }),
        async (delays, concurrency) => {
          const clock = new SteppedClock()
          const begun: number[] = []
          let [running, most] = [0, 0]
          const work = async (index: number) => {
            begun.push(index)
            most = Math.max(most, ++running)
            await clock.sleep(delays[index] ?? 0)
            running--
          }
          await clock.run(runRows(delays.keys(), { concurrency, signal }, work))
          expect(begun).to.deep.equal([...delays.keys()])
          expect(running).to.equal(0)
          expect(most).to.be.at.most(concurrency)
        },
      ),
    ))

  it('starts the next row as soon as one worker is free', async () => {
    const clock = new SteppedClock()
    const begin = clock.now()
    const delays = [1000, ...Array<number>(10).fill(100)]
    await clock.run(runRows(delays, { concurrency: 2, signal }, (delay) => clock.sleep(delay)))
    expect(clock.now() - begin).to.equal(1000)
  })

  it('stops at a failure, after the running rows have finished', async () => {
    const clock = new SteppedClock()
    const done: number[] = []
    const work = async (row: number) => {
      await clock.sleep(row === 4 ? 10 : 100)
      if (row === 4) throw new Error('four')
      done.push(row)
    }
    const ended = await clock.run(runRows([...Array(30).keys()], { concurrency: 3, signal }, work))
    expect(ended).to.have.property('message', 'four')
    expect(done).to.deep.equal([0, 1, 2, 3, 5])
  })

  it('stops at an abort, and returns its reason', async () => {
    const abort = new AbortController()
    const done: number[] = []
    const work = async (row: number) => {
      done.push(row)
      if (row === 2) abort.abort('enough')
    }
    expect(await runRows([1, 2, 3, 4], { concurrency: 1, signal: abort.signal }, work)).to.equal('enough')
    expect(done).to.deep.equal([1, 2])
  })
})
