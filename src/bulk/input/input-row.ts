import { Failure } from '../../contract/failure.ts'
import type { FilePosition, Located } from '../../contract/notation/located.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { countOf } from '../../view/format/quantities.ts'

/** A fault of a row, with its place. */
export interface RowFault extends FilePosition {
  message: string
  hint?: string | undefined
}

/** The path of a value in a row: names of fields and indexes of lists; empty for the row itself. */
export type FieldPath = readonly (string | number)[]

/** Called with each fault of a row. */
export type ReportFault = (path: FieldPath, message: string, hint?: string) => void

/** What the rows of an input are. */
export interface RowShape<R> {
  /** For errors, in the plural. */
  noun: string
  /** The key of the list of rows in a map that contains it. */
  listKey: string
  /** Whether the source text of the rows is needed. */
  keepsText: boolean
  /** Whether a row may have created a user, whose ID it needs when it is sent again. */
  hasIds: boolean
  /** Reads the header of CSV. @param given the names of the columns, without spaces around them */
  readColumns(given: readonly string[], refuse: RefuseColumn): ColumnReader<R>
  /** @returns undefined if the value is not an object */
  readObject(located: Located, report: ReportFault): R | undefined
  check(row: R, read: ReadRow, report: ReportFault): void
}

/** How a row was read. */
interface ReadRow {
  line: number
  /** False if fields with faults were omitted from the row. */
  isComplete: boolean
  /** Whether the row has faults so far, so that it is not sent. */
  isFaulty(): boolean
}

/** Creates the error about the column at an index. */
export type RefuseColumn = (words: string, index: number, hint?: string) => Failure

/** How the cells of a file become rows. */
export interface ColumnReader<R> {
  /** The field of each column, without spaces and `:=`, in its usual case: `metadata.seats`. */
  names: readonly string[]
  /** Reads a record with a cell for each column. An empty cell is an absent field. */
  read(cells: readonly string[], report: ReportFault): R
}

export interface InputRow<R> {
  /** From 0. Counts rows with faults, but not blank lines. */
  index: number
  /** The line on which the row begins, from 1. */
  line: number
  /** The column at which the row begins; only in a JSON list, whose rows may share a line. */
  column?: number
  /** The fields that could be read; undefined if none could. */
  row: R | undefined
  faults: readonly RowFault[]
  /** Its source text. */
  raw: string
  /** The columns and the cells, in CSV. No cells if the quotes are invalid. */
  csv?: { columns: CsvColumns<R>; cells: readonly string[] }
}

export interface CsvColumns<R> extends ColumnReader<R> {
  /** As in the file. */
  header: readonly string[]
  separator: string
}

const none: readonly RowFault[] = []

/** In the order of their places. */
export function sortFaults(faults: RowFault[] | undefined): readonly RowFault[] {
  return faults?.sort((one, other) => one.line - other.line || one.column - other.column) ?? none
}

/** In UTF-16 units. A row is held in memory, and a file in another format may look like one huge row. */
export const maxRowLength = 1024 * 1024

/** The failure of a whole input, at a place in it. */
export function failAt(name: string, { line, column }: FilePosition, words: string, hint?: string): Failure {
  return new Failure('refused', joinLines([`${name}:${line}:${column}: ${words}`]), { hint })
}

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name}:${line}: the row is longer than 1 MiB`, {
    hint: 'Check the file format, and that every quote and bracket is closed.',
  })
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

  /**
   * @param isSkipping whether the rows with faults are skipped (default: they cannot be skipped)
   * @returns a warning about them, if there are any
   * @throws Failure `refused` that lists the faults
   */
  settle(isSkipping?: boolean): string | undefined {
    if (this.count === 0) return undefined
    const [hint] = this.shown.flatMap((fault) => fault.hint ?? [])
    const rows = this.count === 1 ? 'the row' : 'the rows'
    const what = countOf(this.count, 'error')
    if (isSkipping) return `Skipping invalid rows (${what}):\n${this.describe(10)}`
    throw new Failure('refused', `Nothing was sent, because the input has ${what}:\n${this.describe()}`, {
      hint: isSkipping === undefined ? hint : `Fix ${rows}, or skip invalid rows with --skip-invalid.`,
      details: { faults: this.shown.map(({ hint: _, ...fault }) => fault), count: this.count },
    })
  }

  /** One line for each of the first faults. */
  describe(limit = maxDescribed): string {
    const lines = this.shown
      .slice(0, limit)
      .map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
    if (this.count > limit) lines.push(`and ${this.count - limit} more`)
    return joinLines(lines)
  }
}
