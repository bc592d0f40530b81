import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import type { FilePosition } from '../../contract/notation/located.ts'
import type { ExtraCheck, ReportFault } from '../rows/check-row.ts'
import type { ImportedUser, RowKind } from '../rows/imported-user.ts'

/** A fault of a row, with its place. */
export interface RowFault extends FilePosition {
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

/** Sets a field of the row to the text of a cell, which is not empty. */
export type SetCell = (row: ImportedUser, cell: string, report: ReportFault) => void

export interface CsvColumns {
  /** As in the file. */
  header: readonly string[]
  /** The field of each column, without spaces and `:=`, in its usual case: `metadata.seats`. */
  names: readonly string[]
  /** The columns that are recognized although their case differs. */
  respelled: readonly RespelledColumn[]
  separator: string
  setters: readonly SetCell[]
}

/** A column whose name has another case than its field. */
export interface RespelledColumn {
  /** As in the file, without spaces around it. */
  given: string
  /** As chatctl reads it, with `:=`. */
  field: string
}

/** The rules for the rows of an input. */
export interface RowRules {
  kind: RowKind
  extraCheck?: ExtraCheck | undefined
  /** For `${NAME}` references in strings (default: references are not expanded). */
  env?: NodeJS.ProcessEnv | undefined
}

const none: readonly RowFault[] = []

/** In the order of their places. */
export function sortFaults(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}

/** In UTF-16 units. A row is held in memory, and a file in another format may look like one huge row. */
export const maxRowLength = 1024 * 1024

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name}:${line}: the row is longer than 1 MiB`, {
    hint: 'Check the file format, and that every quote and bracket is closed.',
  })
}

/** The place after `text`, which begins at `start`. */
export function placeAfter({ line, column }: FilePosition, text: string): FilePosition {
  const last = text.lastIndexOf('\n')
  if (last === -1) return { line, column: column + text.length }
  return { line: line + text.split('\n').length - 1, column: text.length - last }
}

/** A file may have a fault in each of 100,000 rows: maximum numbers in `details` and in the message. */
const maxInDetails = 1000
const maxDescribed = 100

/** The faults of files: all counted, the first ones kept. */
export class FaultList {
  count = 0
  readonly shown: (RowFault & { file: string })[] = []

  /** @param file its name in errors */
  add(file: string, fault: RowFault): void {
    this.count++
    if (this.shown.length < maxInDetails) this.shown.push({ file, ...fault })
  }

  /** One line for each of the first faults. */
  describe(limit = maxDescribed): string {
    const lines = this.shown
      .slice(0, limit)
      .map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
    if (this.count > limit) lines.push(`and ${this.count - limit} more`)
    return lines.join('\n')
  }
}
