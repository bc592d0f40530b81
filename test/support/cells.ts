/** Whether this run includes the cells that `npm test` omits. */
let takesAllCells = process.env['CHATCTL_TEST_ENGINE'] === 'postgres'

/** Called by test/slow/program/all-cells.test.ts, which then imports the files that use this one. */
export function takeAllCells(): void {
  takesAllCells = true
}

/** The cells of a table: in `npm test` one of each kind, which `isChosen` selects, and all in the other lanes. */
export function someCells<T>(all: readonly T[], isChosen: (cell: T, index: number) => boolean): readonly T[] {
  return takesAllCells ? all : all.filter(isChosen)
}
