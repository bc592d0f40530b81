import { expect } from 'chai'
import fc from 'fast-check'
import { runRows } from '../../../src/users/send/run-rows.ts'
import { reasonOf } from '../../client/capture.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

const never = () => false

describe('running the rows of an import', () => {
  it('runs each row once, in order, with limited concurrency', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(50), { maxLength: 10 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 10 }),
        async (delays, concurrency) => {
          const clock = new SteppedClock()
          const rows = delays.flat().map((delay, index) => ({ delay, index }))
          let given = 0
          const batches = async function* () {
            for (const batch of delays) {
              await clock.sleep(3)
              given += batch.length
              yield rows.slice(given - batch.length, given)
            }
          }
          const begun: number[] = []
          let [running, most] = [0, 0]
          const work = async ({ delay, index }: { delay: number; index: number }) => {
            begun.push(index)
            most = Math.max(most, ++running)
            await clock.sleep(delay)
            running--
          }
          await clock.run(runRows(batches(), concurrency, work, never))
          expect(begun).to.deep.equal([...rows.keys()])
          expect(running).to.equal(0)
          expect(most).to.be.at.most(concurrency)
        },
      ),
    ))

  it('starts the next row as soon as one worker is free', async () => {
    const clock = new SteppedClock()
    const begin = clock.now()
    const delays = [1000, ...Array<number>(10).fill(100)]
    await clock.run(runRows(only(delays), 2, (delay) => clock.sleep(delay), never))
    expect(clock.now() - begin).to.equal(1000)
  })

  it('stops at a failure, after the running rows have finished, and closes its source', async () => {
    const clock = new SteppedClock()
    const done: number[] = []
    let isClosed = false
    const batches = async function* () {
      try {
        for (let from = 0; ; from += 3) yield [from, from + 1, from + 2]
      } finally {
        isClosed = true
      }
    }
    const work = async (row: number) => {
      await clock.sleep(row === 4 ? 10 : 100)
      if (row === 4) throw new Error('four')
      done.push(row)
    }
    expect(await reasonOf(clock.run(runRows(batches(), 3, work, never)))).to.have.property('message', 'four')
    expect(done).to.deep.equal([0, 1, 2, 3, 5])
    expect(isClosed).to.equal(true)
  })

  it('stops when its condition is met', async () => {
    const done: number[] = []
    await runRows(
      only([1, 2, 3, 4]),
      1,
      async (row) => void done.push(row),
      () => done.length === 2,
    )
    expect(done).to.deep.equal([1, 2])
  })

  it('rethrows a failure of its source', async () => {
    const done: number[] = []
    const batches = async function* () {
      yield [1, 2]
      throw new Error('broken')
    }
    const run = runRows(batches(), 4, async (row) => void done.push(row), never)
    expect(await reasonOf(run)).to.have.property('message', 'broken')
    expect(done).to.deep.equal([1, 2])
  })
})

async function* only<T>(batch: readonly T[]): AsyncIterable<readonly T[]> {
  yield batch
}
