import { isRecord, parseJson } from '../../contract/exact-json.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { AuditRow, Database } from '../store/tables.ts'
import type { Principal } from './access/permissions.ts'
import type { JsonObject } from './merge.ts'

/** Who made a change, by what, and by which clock it is dated. */
export interface AuditContext {
  /** A user's id, or `machine`. */
  actor: string
  keyId: string | null
  requestId: string | null
  clock: Clock
}

/** All that leaves an entry. */
export const auditActions = [
  'admin.create',
  'api.update',
  'key.create',
  'key.revoke',
  'key.update',
  'session.revoke',
  'settings.update',
  'user.assign',
  'user.create',
  'user.password',
  'user.reset',
  'user.second_factor',
  'user.update',
] as const

export type AuditAction = (typeof auditActions)[number]

/** One administrative change, as it is handed in. */
export interface AuditedChange {
  action: AuditAction
  /** The id of what was changed, or its name. */
  target: string
  /** What may be read by whoever reads the log: no password, hash, key or token. Null: there was nothing. */
  before: object | null
  /** The same; null: there is nothing any more. */
  after: object | null
}

/** What is done with the program on the service's own machine. */
export const localAuditContext = (clock: Clock): AuditContext => ({
  actor: 'machine',
  keyId: null,
  requestId: null,
  clock,
})

export const auditContextOf = (
  { userId, keyId }: Principal,
  requestId: string,
  clock: Clock,
): AuditContext => ({
  actor: userId,
  keyId,
  requestId,
  clock,
})

/**
 * Writes a change into the log; must run inside the transaction that makes it. Of two states only
 * the parts that differ are kept, and where none does there is no entry.
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
export interface AuditEntry {
  at: string
  actor: string
  action: string
  target: string
  before: unknown
  after: unknown
  key_id: string | null
  request_id: string | null
}

/** Which entries; whatever is not given bounds nothing. Times are ISO 8601 UTC. */
export interface AuditFilter {
  /** Inclusive. */
  since?: string | undefined
  /** Exclusive. */
  until?: string | undefined
  actor?: string | undefined
  /** Any of these. */
  actions?: readonly AuditAction[] | undefined
  target?: string | undefined
  /** Of more entries than these, the newest. */
  limit: number
}

/** Oldest first. */
export async function listAuditEntries(db: Database, filter: AuditFilter): Promise<AuditEntry[]> {
  const { since, until, actor, actions, target, limit } = filter
  let query = db.selectFrom('audit_log').selectAll()
  if (since !== undefined) query = query.where('at', '>=', since)
  if (until !== undefined) query = query.where('at', '<', until)
  if (actor !== undefined) query = query.where('actor', '=', actor)
  if (target !== undefined) query = query.where('target', '=', target)
  if (actions !== undefined) query = query.where('action', 'in', actions)
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.reverse().map(({ at, actor, action, target, before, after, key_id, request_id }) => ({
    at,
    actor,
    action,
    target,
    before: before === null ? null : parseJson(before),
    after: after === null ? null : parseJson(after),
    key_id,
    request_id,
  }))
}

/** Names of fields whose content nobody should find in a log, wherever a person may have put it. */
const secretName = /pass(word|phrase|wd|code)?s?$|secret|token$|api[_-]?key|credential/i

/**
 * What differs between two states, key by key at every depth; arrays are compared whole. A key that
 * is on one side alone is in that side's part. Undefined where nothing differs.
 */
export function changedParts(
  before: object | null,
  after: object | null,
): { before: object | null; after: object | null } | undefined {
  if (!before || !after) return { before: before && hideSecrets(before), after: after && hideSecrets(after) }
  const parts = differences(before as JsonObject, after as JsonObject)
  return parts && { before: hideSecrets(parts.before), after: hideSecrets(parts.after) }
}

function differences(
  before: JsonObject,
  after: JsonObject,
): { before: JsonObject; after: JsonObject } | undefined {
  const found = { before: {} as JsonObject, after: {} as JsonObject }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key], after[key]]
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

/** Defined, not assigned: metadata may have a key `__proto__`. */
function set(target: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** A list or an object under such a name is hidden whole; that there is nothing, or yes or no, may be known. */
function hideSecrets(value: object): object {
  return parseJson(
    JSON.stringify(value, (name, inner) =>
      inner !== null && typeof inner !== 'boolean' && secretName.test(name) ? '(hidden)' : inner,
    ),
  ) as object
}
