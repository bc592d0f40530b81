import type { Input } from '../../bulk/input/input.ts'
import type { ExtraCheck, RespelledColumn, RowFault } from '../../bulk/input/input-row.ts'
import { readRows } from '../../bulk/input/read-rows.ts'
import { type ImportedUser, type RowKind, rowKey } from './imported-user.ts'
import { userRows } from './user-rows.ts'

/** A row of a checked input, without its source text. */
export interface CheckedRow {
  /** From 0, as in `InputRow`. */
  index: number
  line: number
  column?: number
  row: ImportedUser | undefined
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
  /** The columns of a CSV header that are recognized although their case differs. */
  respelled: readonly RespelledColumn[]
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
  const claims = new UniqueValues()
  const extraCheck: ExtraCheck<ImportedUser> = (row, { line, isFaulty }, report) => {
    const taken = claims.findTaken(row)
    for (const { field, line } of taken) report([field], `${field} is already used on line ${line}`)
    // The email of a row that is not sent may be in another row.
    if (!isFaulty && taken.length === 0) claims.claim(row, line)
  }
  const rows: CheckedRow[] = []
  const valid: ValidRow[] = []
  let respelled: readonly RespelledColumn[] = []
  for await (const { index, line, column, row, faults, csv } of readRows(input, userRows(kind), extraCheck)) {
    if (csv) respelled = csv.columns.respelled
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

/** A field that no two rows may share. */
type UniqueField = 'email' | 'id'

/** A field whose value an earlier row has, and the line of that row. */
interface TakenField {
  field: UniqueField
  line: number
}

/** The emails and ids of the rows so far. Email addresses are compared without case. */
class UniqueValues {
  readonly #lines = { email: new Map<string, number>(), id: new Map<string, number>() }

  findTaken(row: ImportedUser): TakenField[] {
    return fieldsOf(row).flatMap(([field, text]) => {
      const line = this.#lines[field].get(text)
      return line === undefined ? [] : [{ field, line }]
    })
  }

  /** Adds the email and the id of a row. A value that is taken keeps its line. */
  claim(row: ImportedUser, line: number): void {
    for (const [field, text] of fieldsOf(row)) {
      if (!this.#lines[field].has(text)) this.#lines[field].set(text, line)
    }
  }
}

function fieldsOf({ email, id }: ImportedUser): [UniqueField, string][] {
  const fields: [UniqueField, string][] = []
  if (email !== undefined) fields.push(['email', email.toLowerCase()])
  if (id !== undefined) fields.push(['id', id])
  return fields
}
