import { nearest } from '../../contract/nearest-word.ts'
import { joinLines } from '../../contract/notation/text.ts'

/** One row of the input: a user to create, or changes to the user `id`. */
export interface ImportedUser {
  id?: string
  /** Only informative in a row with an id, because no request can change an email. */
  email?: string
  password?: string
  name?: string
  metadata?: Record<string, unknown>
  settings?: { theme?: string; notifications_enabled?: boolean }
  role?: string
  permissions?: string[]
}

/**
 * The content of the file: users, only roles and permissions of existing users, or users whose ids are in a state
 * file.
 */
export type RowKind = 'users' | 'assignments' | 'managed users'

/**
 * A kind of request. A `create` makes a user that a second request would make again. The others have the same result if
 * they are sent twice.
 */
export type Step = 'create' | 'update' | 'assign'

/** The requests of a row, in order; empty if it has only an id. */
export function stepsOf(row: ImportedUser): Step[] {
  const steps: Step[] = []
  if (row.id === undefined) steps.push('create')
  // A create request has name and metadata, but no settings (docs/interface.md, "User").
  const changes = row.id === undefined ? row.settings : (row.name ?? row.metadata ?? row.settings)
  if (changes !== undefined) steps.push('update')
  if (row.role !== undefined || row.permissions !== undefined) steps.push('assign')
  return steps
}

/** The request body of each step. */
export const bodyOf = {
  create: ({ email, password, name, metadata }: ImportedUser) =>
    definedOnly({ email, password, name, metadata }),
  update: ({ id, name, metadata, settings }: ImportedUser) =>
    definedOnly(id === undefined ? { settings } : { name, metadata, settings }),
  assign: ({ permissions, role }: ImportedUser) => definedOnly({ permissions, role }),
} satisfies Record<Step, (row: ImportedUser) => object>

/** Omits undefined fields. */
function definedOnly<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof definedOnly<T>
  >
}

const assignmentFields = ['id', 'role', 'permissions'] as const

const userFields = ['id', 'email', 'name', 'password', 'role', 'permissions', 'metadata', 'settings'] as const

/** The fields of a row, in the order in which errors list them. */
export function fieldsOf(kind: RowKind): readonly string[] {
  if (kind === 'assignments') return assignmentFields
  return kind === 'users' ? userFields : userFields.filter((field) => field !== 'password')
}

/** Fields that `users list` and `users get` print, and that no request can send. */
const printedFields = ['created_at', 'source', 'outcome']

/**
 * Whether a field is ignored, because no request can send it. Beside the time of the creation, a service may have
 * printed any field, unless it is almost a known one.
 * @param isPrinted whether the row has that time
 */
export function isIgnored(field: string, isPrinted: boolean, known: readonly string[]): boolean {
  if (printedFields.includes(field)) return true
  return isPrinted && nearest(field, known) === undefined
}

/** @returns a warning; undefined for none */
export function describeIgnored(ignored: ReadonlySet<string>): string | undefined {
  if (ignored.size === 0) return undefined
  return joinLines([`These fields cannot be sent, and are ignored: ${[...ignored].join(', ')}`])
}

const noPassword = {
  message: 'password is not allowed: a file of managed users contains no secrets',
  hint: 'Remove it. users apply generates the passwords of new users.',
}

/** Why a row of this kind must not have a field; undefined for any other reason than an unknown name. */
export function exclusionOf(field: string, kind: RowKind): typeof noPassword | undefined {
  return kind === 'managed users' && field === 'password' ? noPassword : undefined
}
