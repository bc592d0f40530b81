import { Failure } from '../../contract/failure.ts'
import { adminId } from '../domain/access/permissions.ts'
import type { Database } from '../store/tables.ts'

/** A user, as what is done on the machine has to know them. */
export interface Person {
  id: string
  email: string
  role: string
  permissions: string[]
}

/** As the first migration makes it. */
const builtIn: Person = { id: adminId, email: 'admin@localhost', role: 'admin', permissions: ['*:*'] }

/** @throws Failure `not_found`; otherwise as `lookUpPerson` */
export async function findPerson(db: Database | undefined, name: string): Promise<Person> {
  const person = await lookUpPerson(db, name)
  if (person) return person
  throw new Failure('not_found', `No user ${name}`, { advice: [{ code: 'list_users' }] })
}

/**
 * A user by id or email, whose case does not matter; undefined for nobody.
 *
 * @param db undefined where there is no data yet, and so the built-in admin alone
 */
export async function lookUpPerson(db: Database | undefined, name: string): Promise<Person | undefined> {
  const key = name.toLowerCase()
  if (!db) return name === builtIn.id || key === builtIn.email ? builtIn : undefined
  const row = await db
    .selectFrom('users')
    .select(['id', 'email', 'role', 'permissions'])
    .where((where) => where.or([where('id', '=', name), where('email_key', '=', key)]))
    .executeTakeFirst()
  return row && { ...row, permissions: JSON.parse(row.permissions) }
}
