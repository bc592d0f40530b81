import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import type { ImportedUser } from '../rows/imported-user.ts'
import type { CsvColumns } from './csv-columns.ts'

/** A place in a text, both from 1. A column is a character (a code point), not a byte. */
export interface RowPosition {
  line: number
  column: number
}

/** In UTF-16 units. A row is held in memory, and a file in another format may look like one huge row. */
export const maxRowLength = 1024 * 1024

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

/** The place after `text`, which begins at `start`. */
export function placeAfter(start: RowPosition, text: string): RowPosition {
  let { line, column } = start
  let last = -1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    line++
    last = at
  }
  if (last !== -1) column = 1
  return { line, column: column + countCharacters(text, last + 1) }
}

function countCharacters(text: string, from: number): number {
  let count = text.length - from
  for (let at = from; at < text.length; at++) {
    // A surrogate pair is one character.
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  }
  return count
}

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name}:${line}: the row is longer than 1 MiB`, {
    hint: 'Check the file format, and that every quote and bracket is closed.',
  })
}
