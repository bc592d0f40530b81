import { Failure } from '../../contract/failure.ts'
import { ApiError } from '../api-error.ts'
import { hashPassword, passwordLength } from '../domain/access/passwords.ts'
import { type AuditContext, localAuditContext, recordChange } from '../domain/audit.ts'
import { createUser, lockUser, storePassword } from '../domain/users.ts'
import { validate } from '../http/request/validate.ts'
import { clearFailures } from '../oauth/attempt-throttle.ts'
import { endSignIns } from '../oauth/browser/sign-in-sessions.ts'
import type { Database } from '../store/tables.ts'
import type { DataAccess } from './data-access.ts'
import { findUser, requireUser, type UserSummary } from './find-user.ts'

/** Manages accounts on the machine of the service. */
export interface AccountAdministration {
  /** @throws Failure `refused` for an invalid email or name, `conflict` if the email is taken */
  checkAdmin(wanted: { email: string; name: string }): Promise<void>
  /** Creates the database if there is none yet. @throws as `checkAdmin` */
  createAdmin(wanted: { email: string; name: string; password: string }): Promise<Account>
  /** All users, in the order of their creation. */
  listAccounts(): Promise<Account[]>
  /** A user by id or email. @throws Failure `not_found` */
  findAccount(user: string): Promise<Account>
  /**
   * Sets a new password if one is given, removes the second factor, and ends all sign-ins.
   * @throws as `findAccount`, `refused` for the password
   */
  resetAccount(user: string, password: string | undefined): Promise<Account>
}

export function administerAccounts({
  clock,
  open,
  openExisting,
  reportingFailures,
}: DataAccess): AccountAdministration {
  const withData = <T>(user: string, work: (db: Database) => Promise<T>): Promise<T> =>
    reportingFailures(async () => {
      const store = await openExisting()
      if (store) return work(store.db)
      throw new Failure('not_found', `User "${user}" not found: the service has no data yet`)
    })
  return {
    checkAdmin: (wanted) => reportingFailures(async () => checkNewAdmin((await openExisting())?.db, wanted)),
    createAdmin: (wanted) =>
      reportingFailures(async () => {
        await checkNewAdmin((await openExisting())?.db, wanted)
        return createAdmin((await open()).db, wanted, localAuditContext(clock))
      }),
    listAccounts: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        return store ? listAccounts(store.db) : []
      }),
    findAccount: (user) => withData(user, (db) => findAccount(db, user)),
    resetAccount: (user, password) =>
      withData(user, (db) => resetAccount(db, user, password, localAuditContext(clock))),
  }
}

/** A user, as the commands for accounts show it. */
interface Account {
  id: string
  email: string
  name: string
  role: string
  created_at: string
}

const accountFields = ['id', 'email', 'name', 'role', 'created_at'] as const

/** A valid password, to check the email and the name before the password is known. */
const validPassword = 'x'.repeat(passwordLength.min)

/**
 * @param db undefined if there is no data yet
 * @throws Failure `refused` for an invalid email, name, or password, `conflict` if the email is taken
 */
async function checkNewAdmin(
  db: Database | undefined,
  { email, name, password = validPassword }: { email: string; name: string; password?: string },
): Promise<void> {
  checkUser({ email, name, password })
  const person = await findUser(db, email)
  if (person) throw emailTaken(email, person)
}

/** @throws as `checkNewAdmin` */
async function createAdmin(
  db: Database,
  { email, name, password }: { email: string; name: string; password: string },
  by: AuditContext,
): Promise<Account> {
  await checkNewAdmin(db, { email, name, password })
  try {
    const as = { role: 'admin', action: 'admin.create' } as const
    const { id } = await createUser(db, { email, name, password }, by, as)
    return await readAccount(db, String(id))
  } catch (error) {
    if (error instanceof ApiError && error.code === 'email_taken') throw emailTaken(email)
    throw error
  }
}

function listAccounts(db: Database): Promise<Account[]> {
  return db.selectFrom('users').select(accountFields).orderBy('created_at').orderBy('id').execute()
}

async function findAccount(db: Database, user: string): Promise<Account> {
  return readAccount(db, (await requireUser(db, user)).id)
}

/** Also clears the failed attempts, so that the user can sign in at once. */
async function resetAccount(
  db: Database,
  user: string,
  password: string | undefined,
  by: AuditContext,
): Promise<Account> {
  const account = await findAccount(db, user)
  const { id } = account
  if (password !== undefined) checkUser({ email: 'any@example.com', password })
  const hash = password === undefined ? undefined : await hashPassword(password)
  return db.transaction().execute(async (transaction) => {
    await lockUser(transaction, id)
    if (hash !== undefined) await storePassword(transaction, id, hash, by)
    await transaction.deleteFrom('second_factors').where('user_id', '=', id).execute()
    await endSignIns(transaction, by.clock, id)
    await clearFailures(transaction, account.email)
    const changed = hash !== undefined && { password_changed: true }
    const after = { ...changed, second_factor: false, signed_in: false }
    await recordChange(transaction, by, { action: 'user.reset', target: id, before: null, after })
    return readAccount(transaction, id)
  })
}

function readAccount(db: Database, id: string): Promise<Account> {
  return db.selectFrom('users').select(accountFields).where('id', '=', id).executeTakeFirstOrThrow()
}

/** Applies the rules of POST /v1/users. */
function checkUser(user: { email: string; password: string; name?: string }): void {
  try {
    validate('createUser', user, {})
  } catch (error) {
    throw error instanceof ApiError
      ? new Failure('refused', error.message, { details: error.details })
      : error
  }
}

function emailTaken(email: string, person?: UserSummary): Failure {
  return new Failure('conflict', `A user with the email ${email} already exists`, {
    advice: [
      person === undefined || person.role === 'admin'
        ? { code: 'reset_password', email }
        : { code: 'make_admin', userId: person.id },
    ],
  })
}
