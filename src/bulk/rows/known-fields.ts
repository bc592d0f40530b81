import type { RowKind } from './user-row.ts'

const assignmentFields = ['id', 'role', 'permissions'] as const

const userFields = ['id', 'email', 'name', 'password', 'role', 'permissions', 'metadata', 'settings'] as const

/** The fields of a row, in the order in which they are named. */
export function fieldsOf(kind: RowKind): readonly string[] {
  return kind === 'users' ? userFields : assignmentFields
}
