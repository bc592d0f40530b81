import { Failure } from '../../contract/failure.ts'
import { adminId } from '../domain/access/permissions.ts'
import type { Database } from '../store/tables.ts'

export interface UserSummary {
  id: string
  email: string
  role: string
  permissions: string[]
}

/** As the first migration creates it. */
const builtInAdmin: UserSummary = {
  id: adminId,
  email: 'admin@localhost',
  role: 'admin',
  permissions: ['*:*'],
}

/** @throws Failure `not_found`; otherwise as `lookUpPerson` */
export async function requireUser(db: Database | undefined, name: string): Promise<UserSummary> {
  const person = await findUser(db, name)
  if (person) return person
  throw unknownUser(name)
}

export const unknownUser = (name: string): Failure =>
  new Failure('not_found', `User "${name}" not found`, { advice: [{ code: 'list_users' }] })

/**
 * A user by id or email, regardless of case; undefined if there is none.
 * @param db undefined if there is no data yet; then the built-in admin is the only user
 */
export async function findUser(db: Database | undefined, name: string): Promise<UserSummary | undefined> {
  const key = name.toLowerCase()
  if (!db) return name === builtInAdmin.id || key === builtInAdmin.email ? builtInAdmin : undefined
  const row = await db
    .selectFrom('users')
    .select(['id', 'email', 'role', 'permissions'])
    .where((where) => where.or([where('id', '=', name), where('email_key', '=', key)]))
    .executeTakeFirst()
  return row && { ...row, permissions: JSON.parse(row.permissions) }
}
