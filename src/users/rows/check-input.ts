import { describeRespelled } from '../../bulk/input/csv-rows.ts'
import type { Input } from '../../bulk/input/input.ts'
import type { InputRow, RowFault, RowShape } from '../../bulk/input/input-row.ts'
import { readRows } from '../../bulk/input/read-rows.ts'
import { describeIgnored, type ImportedUser, type RowKind } from './imported-user.ts'
import type { RowState } from './row-state.ts'
import { userRows } from './user-rows.ts'

/** A row of a checked input, without its source text. */
export interface CheckedRow extends Pick<InputRow<ImportedUser>, 'index' | 'line' | 'column' | 'row'> {
  /** Why the row is not sent; undefined if it is valid. */
  fault: string | undefined
}

/** A row without faults. */
export interface ValidRow extends CheckedRow {
  row: ImportedUser
  /** Undefined if nothing is known to have been sent. */
  state: RowState | undefined
}

export interface CheckedInput {
  rows: readonly (CheckedRow | ValidRow)[]
  /** Those that are sent. */
  valid: readonly ValidRow[]
  /** Of the text, in hex. */
  sha256: string
  /** Rows with an id and an email; the email is not sent. */
  updatesWithEmail: number
  /** What a person should know about the columns and fields. */
  warnings: readonly string[]
}

/**
 * Reads and checks the whole input.
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
  const shape = userRows(kind)
  for await (const { index, line, column, row, faults, csv } of readRows(input, uniqueRows(shape))) {
    if (csv && rows.length === 0) respelled = describeRespelled(input.name, csv.columns)
    for (const fault of faults) onFault(fault)
    const fault = faults.map(({ message }) => message).join('; ')
    if (fault === '' && row) {
      const checked = { index, line, column, row, fault: undefined, state: undefined }
      valid.push(checked)
      rows.push(checked)
    } else rows.push({ index, line, column, row, fault })
  }
  return {
    rows,
    valid,
    sha256: process.getBuiltinModule('node:crypto').hash('sha256', input.text),
    updatesWithEmail: valid.filter(({ row }) => row.id !== undefined && row.email !== undefined).length,
    warnings: [respelled, describeIgnored(shape.ignored)].filter((warning) => warning !== undefined),
  }
}

const uniqueFields = ['email', 'id'] as const

/** Where each email and each ID was used first. */
export type UsedValues = Record<(typeof uniqueFields)[number], Map<string, { where: string; line: number }>>

/**
 * Rows of which no two may have the same email, compared without case, or the same ID.
 * @param where the words before the number of a line in an error
 * @param used by the files before this one
 */
export function uniqueRows(
  shape: RowShape<ImportedUser>,
  where = 'on line ',
  used: UsedValues = { email: new Map(), id: new Map() },
): RowShape<ImportedUser> {
  return {
    ...shape,
    check(row, read, report) {
      shape.check(row, read, report)
      const values = { email: row.email?.toLowerCase(), id: row.id }
      for (const field of uniqueFields) {
        const found = used[field].get(values[field] ?? '')
        if (found) report([field], `${field} is already used ${found.where}${found.line}`)
      }
      // The email of a row that is not sent may be in another row.
      if (read.isFaulty()) return
      for (const field of uniqueFields) {
        const value = values[field]
        if (value !== undefined) used[field].set(value, { where, line: read.line })
      }
    },
  }
}
