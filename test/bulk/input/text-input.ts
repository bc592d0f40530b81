import type { Input, InputFormat } from '../../../src/bulk/input/input.ts'
import type { InputRow, RowFault } from '../../../src/bulk/input/input-row.ts'
import { readRows } from '../../../src/bulk/input/read-rows.ts'
import { Failure } from '../../../src/contract/failure.ts'
import type { ImportedUser, RowKind } from '../../../src/users/rows/imported-user.ts'
import { userRows } from '../../../src/users/rows/user-rows.ts'

/** An input with this text. */
export function textInput(format: InputFormat, text: string): Input {
  return { name: 'rows', path: undefined, format, text }
}

/** All rows of an input. */
export async function rowsOf(input: Input, kind: RowKind = 'users'): Promise<InputRow<ImportedUser>[]> {
  const rows: InputRow<ImportedUser>[] = []
  for await (const row of readRows(input, userRows(kind))) rows.push(row)
  return rows
}

/** Each fault as `line:column message`. */
export async function faultsOf(
  format: InputFormat,
  text: string,
  kind: RowKind = 'users',
): Promise<string[]> {
  const rows = await rowsOf(textInput(format, text), kind)
  return rows.flatMap(({ faults }) => faults.map(describeFault))
}

export function describeFault({ line, column, message }: RowFault): string {
  return `${line}:${column} ${message}`
}

/** The failure of `act`. Any other outcome throws. */
export async function failureOf(act: () => Promise<unknown>): Promise<Failure> {
  try {
    await act()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('it did not fail')
}
