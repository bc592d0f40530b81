import type { Advice } from '../../contract/advice.ts'
import type { ImportedUser } from '../rows/imported-user.ts'
import type { CsvColumns } from './csv-columns.ts'
import type { RowPosition } from './row-place.ts'

/** A fault of a row, with its place. */
export interface RowFault extends RowPosition {
  message: string
  advice?: Advice
}

export interface InputRow {
  /** From 0. Counts rows with faults, but not blank lines. */
  index: number
  /** The line on which the row begins, from 1. */
  line: number
  /** The column at which the row begins; only in a JSON list, whose rows may share a line. */
  column?: number
  /** The fields that could be read; undefined if none could. */
  row: ImportedUser | undefined
  faults: readonly RowFault[]
  /** Its source text. */
  raw: string
  /** The columns and the cells, in CSV. No cells if the quotes are invalid. */
  csv?: { columns: CsvColumns; cells: readonly string[] }
}

/** Reads rows of one format from chunks of text. */
export interface RowReader {
  /** @param isLast whether the text is the end of the input */
  take(text: string, isLast: boolean): InputRow[]
}

const none: readonly RowFault[] = []

/** In the order of their places. */
export function sortFaults(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}
