import type { ReportFault } from '../../bulk/input/input-row.ts'
import { expandPath } from '../../client/network/address.ts'
import { afterColon } from '../../contract/failure.ts'
import { emailPattern, permissionPattern, permissionRule } from '../../contract/resources/user.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { type ImportedUser, type RowKind, stepsOf } from './imported-user.ts'

/**
 * Checks the syntax of values and the combination of fields. The types are already checked.
 * @param isComplete false if fields with faults were omitted from the row; missing fields are then no fault
 */
export function checkRow(row: ImportedUser, kind: RowKind, isComplete: boolean, report: ReportFault): void {
  const { id, password, permissions } = row
  if (id !== undefined) checkRowId(id, report)
  if (row.email !== undefined && !emailPattern().test(row.email))
    report(['email'], `${quote(row.email)} is not a valid email address`)
  if (password === '') report(['password'], 'password must not be empty')
  if (password !== undefined && id !== undefined) {
    report(['password'], 'password cannot be changed: the row has an id')
  }
  if (row.role === '') report(['role'], 'role must not be empty')
  permissions?.forEach((permission, index) => {
    if (!permissionPattern.test(permission))
      report(['permissions', index], `permission ${quote(permission)} ${permissionRule}`)
  })
  if (isComplete) checkRequiredFields(row, kind, report)
}

/** @param outcome of a creation, which `users list` has printed: another row than a done one is no user to create */
export function checkOutcome({ id }: ImportedUser, outcome: unknown, report: ReportFault): void {
  if (id !== undefined || !outcome || outcome === 'done') return
  const words = `the outcome of the creation is ${visibleJson(outcome)}, so the user may exist`
  report(['outcome'], `${words}: add the id, or delete the outcome to create the user`)
}

function checkRequiredFields(row: ImportedUser, kind: RowKind, report: ReportFault): void {
  if (row.id !== undefined) {
    if (kind === 'assignments' && stepsOf(row).length === 0) report([], 'the row has only an id')
  } else if (kind === 'assignments') report([], 'id is missing')
  else if (kind === 'managed users' && row.email === undefined) report([], 'email is missing')
  else if (row.email === undefined) {
    const isEmpty = Object.keys(row).length === 0
    report([], isEmpty ? 'the row is empty' : 'email is missing: a row without an id creates a user')
  }
}

function checkRowId(id: string, report: ReportFault): void {
  try {
    expandPath('{id}', { id })
  } catch (error) {
    report(['id'], afterColon((error as Error).message))
  }
}

/** The beginning of a value, on one line. */
function quote(value: string): string {
  return visibleJson(value.length > 100 ? `${value.slice(0, 100)}…` : value)
}
