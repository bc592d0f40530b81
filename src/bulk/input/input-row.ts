import type { UserRow } from '../rows/user-row.ts'
import type { Place } from './place.ts'

/** What is wrong with a row, and where. */
export interface RowFault extends Place {
  message: string
}

export interface InputRow {
  /** From 0; broken rows count, blank lines do not. */
  index: number
  /** Where it begins, from 1. */
  line: number
  /** Of a JSON list: where on its line it begins, which may have other rows. */
  column?: number
  /** What could be read of it, even where it has faults. */
  row: UserRow | undefined
  faults: readonly RowFault[]
  /** As it stands in the input. */
  raw: string
  /** Of CSV: the columns, and the texts of its cells; none where its quotes are broken. */
  csv?: { names: readonly string[]; cells: readonly string[] }
}

/** Makes rows of a text of one form that comes in pieces. */
export interface RowReader {
  /** @param isLast nothing comes after this */
  take(text: string, isLast: boolean): InputRow[]
}

const none: readonly RowFault[] = []

/** The faults of a row as one reads them. */
export function inOrder(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}
