import { expect } from 'chai'
import fc from 'fast-check'
import { runRows } from '../../../src/bulk/send/concurrency.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

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
