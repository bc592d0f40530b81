import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { LargeWork } from '../../../src/service/http/request/request-memory.ts'

describe('large pieces of work', () => {
  it('start one per turn of the event loop, in the order in which they arrived', async () => {
    const work = new LargeWork()
    let turn = 0
    const begun: { piece: number; turn: number }[] = []
    const pieces = Array.from({ length: 10 }, async (_, piece) => {
      await work.turn(4_000_000)
      begun.push({ piece, turn })
    })
    while (begun.length < 10) {
      await nextTurn()
      turn += 1
    }
    await Promise.all(pieces)
    expect(begun.map(({ piece }) => piece)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(new Set(begun.map((one) => one.turn)).size).to.equal(10)
  })

  it('do not delay small pieces', () => {
    const work = new LargeWork()
    void work.turn(4_000_000)
    expect(work.turn(100)).to.equal(undefined)
  })
})
