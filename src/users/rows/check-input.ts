import { describeRespelled } from '../../bulk/input/csv-rows.ts'
import type { Input } from '../../bulk/input/input.ts'
import type { InputRow, RowFault, RowShape } from '../../bulk/input/input-row.ts'
import { readRows } from '../../bulk/input/read-rows.ts'
import { type ImportedUser, type RowKind, rowKey } from './imported-user.ts'
import { userRows } from './user-rows.ts'

/** A row of a checked input, without its source text. */
export interface CheckedRow extends Pick<InputRow<ImportedUser>, 'index' | 'line' | 'column' | 'row'> {
  /** Why the row is not sent; undefined if it is valid. */
  fault: string | undefined
}

/** A row without faults. */
export interface ValidRow extends CheckedRow {
  row: ImportedUser
  /** See `rowKey`. */
  key: string
}

export interface CheckedInput {
  rows: readonly (CheckedRow | ValidRow)[]
  /** Those that are sent. */
  valid: readonly ValidRow[]
  /** Of the text, in hex. */
  sha256: string
  /** Rows with an id and an email; the email is not sent. */
  updatesWithEmail: number
  /** See `describeRespelled`. */
  respelled: string | undefined
}

/**
 * Reads and checks the whole input.
 *
 * @param onFault called with each fault, in the order of lines
 * @throws Failure as `readRows`
 */
export async function checkInput(
  input: Input,
  kind: RowKind,
  onFault: (fault: RowFault) => void,
): Promise<CheckedInput> {
  const rows: CheckedRow[] = []
  const valid: ValidRow[] = []
  let respelled: string | undefined
  for await (const { index, line, column, row, faults, csv } of readRows(input, uniqueRows(userRows(kind)))) {
    if (csv && rows.length === 0) respelled = describeRespelled(input.name, csv.columns)
    for (const fault of faults) onFault(fault)
    const fault = faults.map(({ message }) => message).join('; ')
    if (fault === '' && row) {
      const checked = { index, line, column, row, fault: undefined, key: rowKey(row) }
      valid.push(checked)
      rows.push(checked)
    } else rows.push({ index, line, column, row, fault })
  }
  return {
    rows,
    valid,
    sha256: process.getBuiltinModule('node:crypto').hash('sha256', input.text),
    updatesWithEmail: valid.filter(({ row }) => row.id !== undefined && row.email !== undefined).length,
    respelled,
  }
}

/**
 * Rows of which no two may have the same email, compared without case, or the same ID.
 *
 * @param places of the emails and IDs so far, which follow `where`
 */
export function uniqueRows(
  shape: RowShape<ImportedUser>,
  where = 'on line ',
  places = new Map<string, string>(),
): RowShape<ImportedUser> {
  return {
    ...shape,
    check(row, read, report) {
      shape.check(row, read, report)
      const given = Object.entries({ email: row.email?.toLowerCase(), id: row.id })
      const values = given.filter(([, value]) => value !== undefined).map((value) => value.join(' '))
      for (const value of values) {
        const [field = ''] = value.split(' ', 1)
        const place = places.get(value)
        if (place !== undefined) report([field], `${field} is already used ${place}`)
      }
      // The email of a row that is not sent may be in another row.
      if (!read.isFaulty()) for (const value of values) places.set(value, where + read.line)
    },
  }
}
