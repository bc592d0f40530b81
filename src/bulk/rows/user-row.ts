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
