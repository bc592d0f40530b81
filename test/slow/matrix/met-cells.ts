import type { FaultServer } from '../../support/fault-server.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { takeCells } from '../../support/take-sample.ts'
import { leftOut } from './forms.ts'
import { startGoodService } from './good-service.ts'
import { PreparedHome } from './prepared-home.ts'
import { pretendClocks } from './wrong-clock.ts'

/**
 * A test for each cell of a sample, or of all; they run beside each other before the first is told.
 *
 * @param least how many of a sample
 */
export function testCells<Cell extends { title: string }>(
  cells: readonly Cell[],
  least: number,
  meet: (cell: Cell, home: PreparedHome) => Promise<void>,
): void {
  let service: FaultServer
  let home: PreparedHome
  let stopPretending: () => void
  const { sample, words } = takeCells(cells, least)
  const inTurn = createJobPool(8)
  const outcomes = new Map<Cell, Promise<void>>()

  before(async () => {
    stopPretending = pretendClocks()
    service = await startGoodService()
    home = await PreparedHome.make(service.url)
    for (const cell of sample) {
      const outcome = inTurn(() => meet(cell, home))
      // Told by the cell's own test.
      outcome.catch(() => {})
      outcomes.set(cell, outcome)
    }
  })
  after(async () => {
    await service.close()
    home.remove()
    stopPretending()
  })

  describe(words + leftOut, () => {
    for (const cell of sample) it(cell.title, () => outcomes.get(cell))
  })
}
