import { setImmediate as nextTurn } from 'node:timers/promises'
import { createJobPool } from '../../support/job-pool.ts'
import { perSuite } from '../../support/lifetime.ts'
import { takeCells } from '../../support/take-sample.ts'
import { leftOut } from './forms.ts'
import { startGoodService } from './good-service.ts'
import { PreparedHome } from './prepared-home.ts'
import { pretendClocks } from './wrong-clock.ts'

/**
 * Adds a test for each cell of a sample, or for all cells. The cells run concurrently before the first test
 * reports.
 *
 * @param least minimum size of the sample
 */
export function testCells<Cell extends { title: string }>(
  cells: readonly Cell[],
  least: number,
  meet: (cell: Cell, home: PreparedHome) => Promise<void>,
): void {
  const service = perSuite(startGoodService)
  const home = perSuite(() => PreparedHome.make(service.url))
  let stopPretending: () => void
  const { sample, words } = takeCells(cells, least)
  const inTurn = createJobPool(8)
  const outcomes = new Map<Cell, Promise<void>>()

  before(() => {
    stopPretending = pretendClocks()
    for (const cell of sample) {
      const outcome = inTurn(async () => {
        // Runs that fail immediately use only microtasks. A series of them would block the I/O and the timers of other cells.
        await nextTurn()
        await meet(cell, home)
      })
      // The test of the cell reports it.
      outcome.catch(() => {})
      outcomes.set(cell, outcome)
    }
  })
  after(() => {
    stopPretending()
  })

  describe(words + leftOut, () => {
    for (const cell of sample) it(cell.title, () => outcomes.get(cell))
  })
}
