import type { RowFault } from './input-row.ts'

const none: readonly RowFault[] = []

/** The faults of a row as one reads them. */
export function inOrder(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}
