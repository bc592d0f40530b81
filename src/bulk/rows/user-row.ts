import { isRecord } from '../../contract/exact-json.ts'

/** One row of a file of users: what is to be created, or of whom (`id`) what is to be changed. */
export interface UserRow {
  id?: string
  /** Of a row with an id it is a label only: no request can change it. */
  email?: string
  password?: string
  name?: string
  metadata?: Record<string, unknown>
  settings?: { theme?: string; notifications_enabled?: boolean }
  role?: string
  permissions?: string[]
}

/** A request that a row needs, in the order in which they are made. */
export type Step = 'create' | 'update' | 'assign'

/** What the file holds: users, or no more than roles and permissions of users that are there. */
export type RowKind = 'users' | 'assignments'

/** The requests of a row; none where it has nothing to send. */
export function stepsOf(row: UserRow): Step[] {
  const steps: Step[] = []
  if (row.id === undefined) steps.push('create')
  // Creating takes a name and metadata, but no settings (docs/interface.md, "User").
  const changes = row.id === undefined ? row.settings : (row.name ?? row.metadata ?? row.settings)
  if (changes !== undefined) steps.push('update')
  if (row.role !== undefined || row.permissions !== undefined) steps.push('assign')
  return steps
}

const assignmentFields = ['id', 'role', 'permissions'] as const

const userFields = ['id', 'email', 'name', 'password', 'role', 'permissions', 'metadata', 'settings'] as const

/** The fields of a row, in the order in which they are named. */
export function fieldsOf(kind: RowKind): readonly string[] {
  return kind === 'users' ? userFields : assignmentFields
}

/**
 * A digest of a row's content, by which it is found again in a file that has grown. Formatting and
 * the order of columns do not matter. The password is left out: a journal must not help to guess one.
 */
export function rowKey(row: UserRow): string {
  const values = fieldsOf('users')
    .filter((field) => field !== 'password')
    .map((field) => canonical(row[field as keyof UserRow]))
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16)
}

/** The columns of CSV may change places, and with them the names in an object. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isRecord(value)) return value ?? null
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return fields.map(([name, inner]) => [name, canonical(inner)])
}
