import { Failure } from '../../contract/failure.ts'
import type { UserRow } from '../rows/user-row.ts'

/** A place in a text, both from 1. A column is a character (a code point), not a byte. */
export interface Place {
  line: number
  column: number
}

/** UTF-16 units. A row is held as a whole, and a file that is none of its format looks like one row. */
export const largestRow = 1024 * 1024

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

/** Makes rows of a text of one format that comes in pieces. */
export interface RowReader {
  /** @param isLast nothing comes after this */
  take(text: string, isLast: boolean): InputRow[]
}

const none: readonly RowFault[] = []

/** The faults of a row as one reads them. */
export function inOrder(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}

/** The place behind `text`, which begins at `start`. */
export function placeAfter(start: Place, text: string): Place {
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
    // The second half of a surrogate pair is no character of its own.
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  }
  return count
}

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name}:${line}: the row is longer than 1 MiB`, {
    hint: 'Check the file format, and that every quote and bracket is closed.',
  })
}
