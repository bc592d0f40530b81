import type { RowState, Step } from '../../bulk/journal/journal.ts'
import type { Advice } from '../../contract/advice.ts'
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

/** The steps of a row that are not done yet, in order. */
export function remainingSteps(row: ImportedUser, state: RowState | undefined): Step[] {
  const steps = stepsOf(row)
  if (!state) return steps
  if (state.phase === 'skipped' || (state.phase === 'differs' && state.step === 'create')) return []
  const at = steps.indexOf(state.step)
  return steps.slice(state.phase === 'took' ? at + 1 : at)
}

const assignmentFields = ['id', 'role', 'permissions'] as const

const userFields = ['id', 'email', 'name', 'password', 'role', 'permissions', 'metadata', 'settings'] as const

const keyFields = userFields.filter((field) => field !== 'password')

/** The fields of a row, in the order in which errors list them. */
export function fieldsOf(kind: RowKind): readonly string[] {
  if (kind === 'assignments') return assignmentFields
  return kind === 'users' ? userFields : keyFields
}

/** Fields that `users list` and `users get` print, and that no request can send. */
const printedFields = ['created_at', 'source', 'outcome']

/**
 * Whether a field is ignored, because no request can send it. Beside the time of the creation, a service may have
 * printed any field, unless it is almost a known one.
 *
 * @param names of all fields
 */
export function isIgnored(field: string, names: readonly string[], known: readonly string[]): boolean {
  if (printedFields.includes(field)) return true
  return names.includes('created_at') && nearest(field, known) === undefined
}

/** @returns a warning; undefined for none */
export function describeIgnored(ignored: ReadonlySet<string>): string | undefined {
  if (ignored.size === 0) return undefined
  return joinLines([`These fields cannot be sent, and are ignored: ${[...ignored].join(', ')}`])
}

const noPassword: { message: string; advice: Advice } = {
  message: 'password is not allowed: a file of managed users contains no secrets',
  advice: { code: 'new_passwords' },
}

/** Why a row of this kind must not have a field; undefined for any other reason than an unknown name. */
export function exclusionOf(field: string, kind: RowKind): typeof noPassword | undefined {
  return kind === 'managed users' && field === 'password' ? noPassword : undefined
}

/** Length of the digest in a key. */
const digestLength = 16

/**
 * A digest of a row's content, by which it is found after the file has changed, and its email, by which it is found
 * in another file. The digest does not depend on formatting or the order of columns. It excludes the password, so
 * that the journal does not help to guess one.
 */
export function rowKey(row: ImportedUser): string {
  const values = keyFields.map((field) => canonical(row[field]))
  const { hash } = process.getBuiltinModule('node:crypto')
  const digest = hash('sha256', JSON.stringify(values), 'base64url').slice(0, digestLength)
  return digest + (row.email ?? '').toLowerCase()
}

/** The email of a row, in lower case. */
export function emailOfKey(key: string): string {
  return key.slice(digestLength)
}

/** Sorts the names of objects, because CSV columns may be reordered. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value ?? null
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return fields.map(([name, inner]) => [name, canonical(inner)])
}
