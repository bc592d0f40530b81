import { Failure } from '../failure.ts'
import { noteChange, onMachine } from './domain/audit.ts'
import { hashPassword } from './domain/passwords.ts'
import { Refusal } from './domain/refusal.ts'
import { createUser, lockUser } from './domain/users.ts'
import { findPerson, lookUpPerson } from './find-person.ts'
import { validate } from './http/validate.ts'
import { unlockAccount } from './oauth/lock-out.ts'
import { endOthers } from './oauth/sessions.ts'
import type { Database } from './store/tables.ts'

/** An admin, as shown. */
export interface AdminAccount {
  id: string
  email: string
  name: string
  role: string
  created_at: string
}

/** A password that any user might have, for what is checked before there is one. */
const soundPassword = 'x'.repeat(8)

/**
 * @param db undefined where there is no data yet
 * @throws Failure `refused` for an email, a name or a password that no user may have, `conflict`
 * where the email is taken
 */
export async function checkNewAdmin(
  db: Database | undefined,
  { email, name, password = soundPassword }: { email: string; name: string; password?: string },
): Promise<void> {
  checkUser({ email, name, password })
  if (await lookUpPerson(db, email)) throw emailTaken(email)
}

/** @throws as `checkNewAdmin` */
export async function createAdmin(
  db: Database,
  { email, name, password }: { email: string; name: string; password: string },
): Promise<AdminAccount> {
  await checkNewAdmin(db, { email, name, password })
  try {
    const as = { role: 'admin', action: 'admin.create' } as const
    const { id } = await createUser(db, { email, name, password }, onMachine, as)
    return await readAdmin(db, String(id))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'email_taken') throw emailTaken(email)
    throw error
  }
}

/**
 * The admin whose password is to be set anew; nothing is changed.
 * @throws Failure `not_found`, `conflict` for a user who is no admin
 */
export async function findAdmin(db: Database, email: string): Promise<AdminAccount> {
  const { id, role } = await findPerson(db, email)
  if (role === 'admin') return readAdmin(db, id)
  throw new Failure('conflict', `${email} is no admin but has the role ${role}`, {
    hint: `Let an admin do it: chatctl users permissions assign ${id} --role admin`,
  })
}

/**
 * The way back in: a new password, no second factor, and no sign-in that was there before, no lock.
 * @throws as `findAdmin`, and Failure `refused` for the password
 */
export async function resetAdmin(db: Database, email: string, password: string): Promise<AdminAccount> {
  const stored = await findAdmin(db, email)
  const { id } = stored
  checkUser({ email: 'any@example.com', password })
  const hash = await hashPassword(password)
  return db.transaction().execute(async (transaction) => {
    await lockUser(transaction, id)
    await transaction
      .updateTable('users')
      .set({ password_hash: hash, updated_at: new Date().toISOString() })
      .where('id', '=', id)
      .execute()
    await transaction.deleteFrom('second_factors').where('user_id', '=', id).execute()
    await unlockAccount(transaction, stored.email)
    // A request that is under way may write its session once more: the marks of ended ones outlast that.
    await endOthers(transaction, id, '')
    await transaction.deleteFrom('oauth_records').where('user_id', '=', id).execute()
    const after = { password_changed: true, second_factor: false, signed_in: false }
    await noteChange(transaction, onMachine, { action: 'admin.reset', target: id, before: null, after })
    return readAdmin(transaction, id)
  })
}

function readAdmin(db: Database, id: string): Promise<AdminAccount> {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'role', 'created_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
}

/** The rules are those of POST /v1/users. */
function checkUser(user: { email: string; password: string; name?: string }): void {
  try {
    validate('createUser', user, {})
  } catch (error) {
    throw error instanceof Refusal ? new Failure('refused', error.message, { details: error.details }) : error
  }
}

const emailTaken = (email: string) =>
  new Failure('conflict', `There is already a user with the email ${email}`, {
    hint: `For a new password of an admin: chatctl service admin create ${email} --reset`,
  })
