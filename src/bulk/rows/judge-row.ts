import { expandPath } from '../../client/address.ts'
import { afterColon } from '../../contract/failure.ts'
import { emailForm, emailWords, permissionForm, permissionWords } from '../../contract/user.ts'
import { type RowKind, stepsOf, type UserRow } from './user-row.ts'

/** Where a fault is in a row: names of fields and indexes of lists; empty for the row itself. */
export type FieldPath = readonly (string | number)[]

/** Is told of each fault of a row. */
export type SayFault = (path: FieldPath, message: string) => void

/** Judges a row by more than itself. `isFaulty`: the row has other faults, so that it is not sent. */
export type JudgeMore = (
  row: UserRow,
  place: { index: number; line: number; isFaulty: boolean },
  say: SayFault,
) => void

/**
 * What a row of its types must still be: forms of values, and fields that need each other.
 * @param isWhole whether nothing had to be left out of it: what is missing may be just that
 */
export function judgeRow(row: UserRow, kind: RowKind, isWhole: boolean, say: SayFault): void {
  const { id, password, permissions } = row
  if (id !== undefined) judgeId(id, say)
  if (row.email !== undefined && !emailForm.test(row.email)) say(['email'], `email ${emailWords}`)
  if (password === '') say(['password'], 'password must not be empty')
  if (password !== undefined && id !== undefined) {
    say(['password'], 'password cannot be changed: the row has an id')
  }
  if (row.role === '') say(['role'], 'role must not be empty')
  permissions?.forEach((permission, index) => {
    if (!permissionForm.test(permission)) say(['permissions', index], `permission ${permissionWords}`)
  })
  if (isWhole) judgeWhole(row, kind, say)
}

function judgeWhole(row: UserRow, kind: RowKind, say: SayFault): void {
  if (row.id !== undefined) {
    if (stepsOf(row).length === 0) say([], 'the row has only an id')
  } else if (kind === 'assignments') say([], 'id is missing')
  else if (row.email === undefined) {
    const isEmpty = Object.keys(row).length === 0
    say([], isEmpty ? 'the row is empty' : 'email is missing: a row without an id creates a user')
  }
}

function judgeId(id: string, say: SayFault): void {
  try {
    expandPath('{id}', { id })
  } catch (error) {
    say(['id'], afterColon((error as Error).message))
  }
}
