import { Failure } from '../../contract/failure.ts'
import { passwordLength } from '../../contract/resources/password-length.ts'
import { ApiError } from '../api-error.ts'
import { checkGrantable } from '../domain/access/check-requests.ts'
import { hashPassword } from '../domain/access/passwords.ts'
import { userPermissions } from '../domain/access/permissions.ts'
import { type AuditContext, recordChange } from '../domain/audit.ts'
import { insertUser, lockUser, storePassword } from '../domain/users.ts'
import { validate } from '../http/request/validate.ts'
import { clearFailures } from '../oauth/attempt-throttle.ts'
import {
  endSessions,
  endSignIns,
  listSessions,
  type SignInSession,
} from '../oauth/browser/sign-in-sessions.ts'
import { isUniqueViolation } from '../store/storage-failure.ts'
import type { Database, UserRow } from '../store/tables.ts'
import type { DataAccess } from './data-access.ts'

/** `search` is a part of the email address or the name, regardless of case; `since` is ISO 8601. */
type AccountFilter = { [K in 'role' | 'search' | 'since']?: string | undefined }

const accountFields = ['id', 'email', 'name', 'role', 'created_at', 'disabled_at'] as const

type Account = Pick<UserRow, (typeof accountFields)[number]>

/** Manages accounts on the machine of the service. */
export function administerAccounts(data: DataAccess) {
  const { clock, by } = data
  return {
    /**
     * The admin that would be created.
     * @throws Failure `refused` for an invalid email or name, `conflict` if the email is taken
     */
    async checkAdmin(wanted: { email: string; name: string }): Promise<Account> {
      checkUser({ ...wanted, password: 'x'.repeat(passwordLength.min) })
      return data.rehearse((db) => insertAdmin(db, wanted, null, by))
    },
    /** Creates the database if there is none yet. @throws as `checkAdmin`, `refused` for the password */
    async createAdmin(wanted: { email: string; name: string; password: string }): Promise<Account> {
      checkUser(wanted)
      try {
        const hash = await hashPassword(wanted.password)
        return await data.create((db) => insertAdmin(db, wanted, hash, by))
      } catch (error) {
        throw isUniqueViolation((error as Error).cause) ? emailTaken(wanted.email) : error
      }
    },
    /** The users that match, in the order of their creation. */
    listAccounts: ({ role, search = '', since = '' }: AccountFilter): Promise<Account[]> =>
      data.read(async (db) => {
        const all = db.selectFrom('users').select(accountFields).orderBy('created_at').orderBy('id')
        const found = await all
          .$if(role !== undefined, (query) => query.where('role', '=', String(role)))
          .where('created_at', '>=', since)
          .execute()
        const isWanted = (text: string) => text.toLowerCase().includes(search.toLowerCase())
        return found.filter(({ email, name }) => isWanted(email) || isWanted(name))
      }, []),
    /**
     * Sets a new password if one is given, removes the second factor, and ends all sign-ins. Also clears the failed
     * attempts, so that the user can sign in immediately.
     * @throws Failure `not_found`, `refused` for the password
     */
    async resetAccount(user: string, password: string | undefined): Promise<Account> {
      if (password !== undefined) checkUser({ email: 'any@example.com', password })
      const hash = password === undefined ? undefined : await hashPassword(password)
      return data.change(async (db) => {
        const { id, email } = await requireUser(db, user)
        await lockUser(db, id)
        if (hash !== undefined) await storePassword(db, id, hash, by)
        await db.deleteFrom('second_factors').where('user_id', '=', id).execute()
        await endSignIns(db, clock, id)
        await clearFailures(db, email)
        const changed = hash !== undefined && { password_changed: true }
        const after = { ...changed, second_factor: false, signed_in: false }
        await recordChange(db, by, { action: 'user.reset', target: id, before: null, after })
        return readAccount(db, id)
      })
    },
  }
}

async function insertAdmin(
  db: Database,
  { email, name }: { email: string; name: string },
  hash: string | null,
  by: AuditContext,
): Promise<Account> {
  const found = await findUser(db, email)
  if (found) throw emailTaken(email, found)
  const as = { role: 'admin', action: 'admin.create' } as const
  const { id } = await insertUser(db, { email, name, password_hash: hash }, by, as)
  return readAccount(db, String(id))
}

/** Manages sign-in sessions on the machine of the service. */
export function administerSessions(data: DataAccess) {
  const { clock, by } = data
  const unknown = (id: string) =>
    new Failure('not_found', `No sign-in session ${id}`, { advice: [{ code: 'list_sign_ins' }] })
  const require = async (db: Database, id: string) => {
    const found = (await listSessions(db, clock)).find((known) => known.id === id)
    if (found) return found
    throw unknown(id)
  }
  return {
    /** The current sessions, oldest first. */
    listSessions: (): Promise<SignInSession[]> =>
      data.read(async (db) => (await listSessions(db, clock)).map(withoutHash), []),
    /** @throws Failure `not_found` */
    findSession: (id: string): Promise<SignInSession> =>
      data.read(async (db) => withoutHash(await require(db, id)), unknown(id)),
    /** Service processes refuse the session from the next request on. @throws Failure `not_found` */
    revokeSession: (id: string): Promise<SignInSession> =>
      data.change(async (db) => {
        const session = await require(db, id)
        await endSessions(db, by, [session])
        return withoutHash(session)
      }, unknown(id)),
  }
}

export const withoutHash = ({ hash: _, ...session }: SignInSession & { hash: string }): SignInSession =>
  session

function readAccount(db: Database, id: string): Promise<Account> {
  return db.selectFrom('users').select(accountFields).where('id', '=', id).executeTakeFirstOrThrow()
}

/** Applies the rules of POST /v1/users. */
function checkUser({ email, name, password }: { email: string; password: string; name?: string }): void {
  try {
    validate('createUser', { email, name, password }, {})
  } catch (error) {
    throw error instanceof ApiError
      ? new Failure('refused', error.message, { details: error.details })
      : error
  }
}

function emailTaken(email: string, found?: UserRow): Failure {
  return new Failure('conflict', `A user with the email ${email} already exists`, {
    advice: [
      found === undefined || found.role === 'admin'
        ? { code: 'reset_password', email }
        : { code: 'make_admin', userId: found.id },
    ],
  })
}

/** @throws Failure `not_found`; otherwise as `findUser` */
export async function requireUser(db: Database, name: string): Promise<UserRow> {
  const found = await findUser(db, name)
  if (found) return found
  throw new Failure('not_found', `User "${name}" not found`, { advice: [{ code: 'list_users' }] })
}

/**
 * The id of the user of a key or a trust.
 * @param what has the permissions; default: a key
 * @throws Failure as `requireUser`, `refused` for a permission that the user does not have
 */
export async function requireHolder(
  db: Database,
  name: string,
  wanted: readonly string[],
  what?: string,
): Promise<string> {
  const { id, email, role, permissions, disabled_at } = await requireUser(db, name)
  if (disabled_at !== null)
    throw new Failure('refused', `The user ${email} is disabled`, {
      advice: [{ code: 'enable_user', email }],
    })
  checkGrantable(wanted, userPermissions(id, role, JSON.parse(permissions)), email, what)
  return id
}

/** A user by id or email, regardless of case; undefined if there is none. */
export const findUser = (db: Database, name: string): Promise<UserRow | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where((where) => where.or([where('id', '=', name), where('email_key', '=', name.toLowerCase())]))
    .executeTakeFirst()
