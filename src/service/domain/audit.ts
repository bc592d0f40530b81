import type { Selectable } from 'kysely'
import { isRecord, parseJson } from '../../contract/notation/exact-json.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { AuditRow, Database } from '../store/tables.ts'

type JsonObject = Record<string, unknown>

/** Who makes a change, with which key, in which request, and the clock that dates it. */
export interface AuditContext {
  /** A user's id, `machine:NAME` (`localAuditContext`), or `anonymous`. */
  actor: string
  keyId: string | null
  requestId: string | null
  clock: Clock
}

export const auditActions = [
  'admin.create',
  'api.update',
  'device.approve',
  'device.deny',
  'key.create',
  'key.revoke',
  'key.update',
  'session.revoke',
  'settings.update',
  'sign_in.failed',
  'sign_in.succeeded',
  'sign_out',
  'token.exchanged',
  'trust.create',
  'trust.exchanged',
  'trust.refused',
  'trust.revoke',
  'user.assign',
  'user.create',
  'user.delete',
  'user.disable',
  'user.enable',
  'user.password',
  'user.reset',
  'user.second_factor',
  'user.update',
] as const

export type AuditAction = (typeof auditActions)[number]

interface AuditedChange {
  action: AuditAction
  /** The id of what was changed, or its name. */
  target: string
  /** Null for a new object. Must not contain a password, hash, key, or token. */
  before: object | null
  /** Null for a deleted object; otherwise as `before`. */
  after: object | null
}

/** The context of a change that a system user makes with a command on the machine of the service. */
export const localAuditContext = (clock: Clock, systemUser?: string): AuditContext =>
  auditContextOf({ userId: systemUser ? `machine:${systemUser}` : 'machine', keyId: null }, null, clock)

export const auditContextOf = (
  { userId: actor, keyId }: { userId: string; keyId: string | null },
  requestId: string | null,
  clock: Clock,
): AuditContext => ({ actor, keyId, requestId, clock })

/**
 * Writes a change into the audit log. Must run inside the transaction that makes it. Only the parts that
 * differ are recorded; if nothing differs, there is no entry.
 */
export async function recordChange(
  transaction: Database,
  by: AuditContext,
  change: AuditedChange,
): Promise<void> {
  const { action, target } = change
  const parts = changedParts(change.before, change.after)
  if (!parts) return
  const row: Omit<AuditRow, 'seq'> = {
    at: isoNow(by.clock),
    actor: by.actor,
    key_id: by.keyId,
    action,
    target,
    before: parts.before && JSON.stringify(parts.before),
    after: parts.after && JSON.stringify(parts.after),
    request_id: by.requestId,
  }
  await transaction.insertInto('audit_log').values(row).execute()
}

/** One entry of the log, as shown. */
export type AuditEntry = ReturnType<typeof present>

/** Times are ISO 8601 UTC. A field that is omitted does not filter. */
export interface AuditFilter {
  /** Inclusive. */
  since?: string | undefined
  /** Exclusive. */
  until?: string | undefined
  actor?: string | undefined
  /** Only changes with any of these API keys. */
  keyIds?: readonly string[] | undefined
  /** Any of these. */
  actions?: readonly AuditAction[] | undefined
  target?: string | undefined
  /** If there are more entries, the newest are returned. */
  limit: number
}

/** Oldest first. */
export async function listAuditEntries(db: Database, filter: AuditFilter): Promise<AuditEntry[]> {
  const rows = await select(db, filter).selectAll().orderBy('seq', 'desc').limit(filter.limit).execute()
  return rows.reverse().map(present)
}

/** All entries about a user, their keys, and what they did. Oldest first. */
export const listEntriesOf = async (db: Database, userId: string): Promise<AuditEntry[]> =>
  (await selectEntriesOf(db, userId).execute()).map(present)

const present = ({ seq: _, before, after, ...row }: Selectable<AuditRow>) => ({
  ...row,
  before: before === null ? null : parseJson(before),
  after: after === null ? null : parseJson(after),
})

const selectEntriesOf = (db: Database, userId: string) =>
  db
    .selectFrom('audit_log')
    .selectAll()
    .where((of) =>
      of.or([
        ...(['actor', 'key_id', 'target', 'before', 'after'] as const).map((column) =>
          of(column, 'like', `%${userId}%`),
        ),
        of('target', 'in', of.selectFrom('api_keys').select('id').where('user_id', '=', userId)),
      ]),
    )
    .orderBy('seq')

/** What tells who a user is, in an entry about the user or one of their keys. */
const personalFields = ['email', 'user_email', 'name', 'metadata', 'address', 'agent']

/**
 * Replaces a user in all entries by a pseudonym, and erases what tells who the user is. Must run inside the
 * transaction that deletes the user, before it deletes the keys.
 */
export async function replaceSubject(
  transaction: Database,
  userId: string,
  pseudonym: string,
): Promise<void> {
  const keys = await transaction.selectFrom('api_keys').select('id').where('user_id', '=', userId).execute()
  const own = [userId, ...keys.map(({ id }) => id)]
  for (const { seq, target, actor, ...row } of await selectEntriesOf(transaction, userId).execute()) {
    const replace = (text: string) => text.replaceAll(userId, pseudonym)
    const erase = (json: string | null) => {
      const isAbout = own.includes(target) || json?.includes(`"user_id":"${userId}"`)
      const eraseField = (name: string, value: unknown) =>
        isAbout && personalFields.includes(name) ? '[erased]' : value
      return json && replace(JSON.stringify(parseJson(json), eraseField))
    }
    await transaction
      .updateTable('audit_log')
      .set({ actor: replace(actor), target: replace(target), key_id: row.key_id && replace(row.key_id) })
      .set({ before: erase(row.before), after: erase(row.after) })
      .where('seq', '=', seq)
      .execute()
  }
}

/** The number of entries, whatever the limit is. */
export async function countAuditEntries(db: Database, filter: AuditFilter): Promise<number> {
  const count = select(db, filter).select((of) => of.fn.countAll().as('entries'))
  return Number((await count.executeTakeFirstOrThrow()).entries)
}

function select(db: Database, { since, until, actor, keyIds, actions, target }: AuditFilter) {
  let query = db.selectFrom('audit_log')
  if (since !== undefined) query = query.where('at', '>=', since)
  if (until !== undefined) query = query.where('at', '<', until)
  if (actor === 'machine') query = query.where('actor', 'like', 'machine%')
  else if (actor !== undefined) query = query.where('actor', '=', actor)
  if (keyIds !== undefined) query = query.where('key_id', 'in', keyIds)
  if (target !== undefined) query = query.where('target', '=', target)
  if (actions !== undefined) query = query.where('action', 'in', actions)
  return query
}

/**
 * The differences of two states, by key at every depth; arrays are compared as a whole. A key that only
 * one state has is in the part of that state. Undefined if nothing differs.
 */
export function changedParts(
  before: object | null,
  after: object | null,
): { before: object | null; after: object | null } | undefined {
  if (!before || !after) return { before: before && hideIn(before), after: after && hideIn(after) }
  const parts = differences(before as JsonObject, after as JsonObject)
  return parts && { before: hideIn(parts.before), after: hideIn(parts.after) }
}

function differences(
  before: JsonObject,
  after: JsonObject,
): { before: JsonObject; after: JsonObject } | undefined {
  const found = { before: {} as JsonObject, after: {} as JsonObject }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [get(before, key), get(after, key)]
    if (isRecord(old) && isRecord(now)) {
      const inner = differences(old, now)
      if (!inner) continue
      set(found.before, key, inner.before)
      set(found.after, key, inner.after)
    } else if (JSON.stringify(old) !== JSON.stringify(now)) {
      if (old !== undefined) set(found.before, key, old)
      if (now !== undefined) set(found.after, key, now)
    }
  }
  return Object.keys(found.before).length + Object.keys(found.after).length > 0 ? found : undefined
}

/** Only an own property, because metadata may have a key `__proto__` or `constructor`. */
function get(source: JsonObject, key: string): JsonObject[string] | undefined {
  return Object.hasOwn(source, key) ? source[key] : undefined
}

/** `defineProperty`, because metadata may have a key `__proto__`. */
function set(target: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Metadata of a user may contain secrets. */
function hideIn(value: object): object {
  return hideSecrets(value) as object
}
