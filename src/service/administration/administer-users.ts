import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { listKeys, tokenPrefixes } from '../domain/access/keys.ts'
import { adminId, covers, userPermissions } from '../domain/access/permissions.ts'
import { listTrusts } from '../domain/access/trusts.ts'
import { listEntriesOf, recordChange, replaceSubject } from '../domain/audit.ts'
import { createId } from '../domain/identifiers.ts'
import { readPreferences } from '../domain/preferences.ts'
import { lockUser } from '../domain/users.ts'
import { clearFailures } from '../oauth/attempt-throttle.ts'
import { endSignIns, listSessions } from '../oauth/browser/sign-in-sessions.ts'
import type { Database, UserRow } from '../store/tables.ts'
import { requireUser, withoutHash } from './administer-accounts.ts'
import { isValid } from './administer-keys.ts'
import type { DataAccess } from './data-access.ts'

export function administerUsers(data: DataAccess) {
  const { clock, by } = data
  const read = <T>(user: string, work: (db: Database, id: string) => Promise<T>) =>
    data.read(async (db) => work(db, (await requireUser(db, user)).id))
  const change = <T>(user: string, work: (db: Database, stored: UserRow) => Promise<T>) =>
    data.change(async (db) => work(db, await lockUser(db, (await requireUser(db, user)).id)))

  async function setAccess(db: Database, { id, disabled_at: before }: UserRow, isEnabled: boolean) {
    const after = isEnabled ? null : (before ?? isoNow(clock))
    // Also before access begins again: a request in progress may have stored a session since it ended.
    await endSignIns(db, clock, id)
    await db.deleteFrom('api_keys').where('user_id', '=', id).where('prefix', 'like', tokenPrefixes).execute()
    await db.updateTable('users').set({ disabled_at: after }).where('id', '=', id).execute()
    const values = { before: { disabled_at: before }, after: { disabled_at: after } }
    const action = isEnabled ? 'user.enable' : 'user.disable'
    await recordChange(db, by, { action, target: id, ...values })
    return readDetails(db, clock, id)
  }

  return {
    /** A user by ID or email. @param isToEnd refuses one who must not be removed @throws Failure `not_found`, `refused` */
    describeUser: (user: string, isToEnd = false) =>
      read(user, async (db, id) => {
        if (isToEnd) await requireRemovable(db, id)
        return readDetails(db, clock, id)
      }),
    /** Ends sessions and tokens. API keys and trusts are refused until the user is enabled. @throws as `describeUser` */
    disableUser: (user: string) =>
      change(user, async (db, stored) => {
        await requireRemovable(db, stored.id)
        return setAccess(db, stored, false)
      }),
    /** API keys and trusts are valid again. @throws as `describeUser` */
    enableUser: (user: string) =>
      change(user, async (db, stored) =>
        stored.disabled_at === null ? readDetails(db, clock, stored.id) : setAccess(db, stored, true),
      ),
    /** @param keepsAudit whether the audit log still names the user @throws as `describeUser` */
    deleteUser: (user: string, keepsAudit = false) =>
      change(user, async (db, { id, email, name, role }) => {
        await requireRemovable(db, id)
        const details = await readDetails(db, clock, id)
        const target = keepsAudit ? id : createId('deleted')
        await endSignIns(db, clock, id)
        await clearFailures(db, email)
        if (!keepsAudit) await replaceSubject(db, id, target)
        // Everything else of the user refers to this row.
        await db.deleteFrom('users').where('id', '=', id).execute()
        const before = keepsAudit ? { email, name, role } : { role }
        await recordChange(db, by, { action: 'user.delete', target, before, after: null })
        return { ...details, audit_subject: target }
      }),
    /** Everything that is stored about a user, without secrets and their hashes. @throws as `describeUser` */
    exportUser: (user: string) => read(user, (db, id) => readAll(db, clock, id)),
  }
}

/** @throws Failure `refused` */
async function requireRemovable(db: Database, id: string): Promise<void> {
  if (id === adminId) throw new Failure('refused', 'The built-in admin cannot be disabled or deleted')
  // Locked, so that two admins cannot be removed at the same time.
  const users = await db
    .selectFrom('users')
    .selectAll()
    .where('disabled_at', 'is', null)
    .where('password_hash', 'is not', null)
    .orderBy('id')
    .forUpdate()
    .execute()
  const isAdmin = (user: UserRow) =>
    covers(userPermissions(user.id, user.role, JSON.parse(user.permissions)), '*:*')
  const [first, ...others] = users.filter(isAdmin)
  if (first?.id !== id || others.length > 0) return
  const advice = [{ code: 'create_admin' }] as const
  throw new Failure('refused', `${first.email} is the last admin who can sign in`, { advice })
}

/** Keys count if they are not revoked and have not expired. */
async function readDetails(db: Database, clock: Clock, id: string) {
  const rowsOf = (table: 'trusts' | 'contexts' | 'messages') =>
    db
      .selectFrom(table)
      .where('user_id', '=', id)
      .select((of) => of.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
  const user = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const { password_hash, email_key: _, ...shown } = user
  const factor = db.selectFrom('second_factors').select('confirmed_at').where('user_id', '=', id)
  const keys = (await listKeys(db)).filter(isOf(id))
  const sessions = await listSessions(db, clock, id)
  const lastUses = [...keys, ...sessions].flatMap(({ last_used_at }) => last_used_at ?? [])
  return {
    ...shown,
    permissions: JSON.parse(user.permissions) as string[],
    metadata: parseJson(user.metadata),
    has_password: password_hash !== null,
    second_factor: ((await factor.executeTakeFirst())?.confirmed_at ?? null) !== null,
    last_used_at: lastUses.sort().at(-1) ?? null,
    keys: keys.filter((key) => isValid(key, clock.now())).length,
    trusts: (await rowsOf('trusts')).n,
    sign_in_sessions: sessions.length,
    conversations: (await rowsOf('contexts')).n,
    messages: (await rowsOf('messages')).n,
  }
}

async function readAll(db: Database, clock: Clock, id: string) {
  const rowsOf = (table: 'contexts' | 'messages') =>
    db.selectFrom(table).selectAll().where('user_id', '=', id).orderBy('id').execute()
  return {
    exported_at: isoNow(clock),
    user: await readDetails(db, clock, id),
    preferences: await readPreferences(db, id),
    keys: (await listKeys(db)).filter(isOf(id)),
    trusts: (await listTrusts(db)).filter(isOf(id)),
    sign_in_sessions: (await listSessions(db, clock, id)).map(withoutHash),
    conversations: await rowsOf('contexts'),
    messages: await rowsOf('messages'),
    audit_log: await listEntriesOf(db, id),
  }
}

const isOf = (id: string) => (row: { user_id: string }) => row.user_id === id
