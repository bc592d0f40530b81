import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import {
  type AuditAction,
  type AuditEntry,
  type AuditFilter,
  auditActions,
  countAuditEntries,
  listAuditEntries,
} from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import { findUser } from './administer-accounts.ts'
import type { DataAccess } from './data-access.ts'

/** A filter as a user writes it: actor and target may be an email, the actor a key, and `action` may be `key` for all changes of keys. */
type AuditQuery = Omit<AuditFilter, 'keyIds'> & { action?: string | undefined }

export function readAuditLog(data: DataAccess) {
  const read = <T>(query: AuditQuery, none: T, work: (db: Database, filter: AuditFilter) => Promise<T>) => {
    const { action, actor, ...filter } = query
    const actions = action === undefined ? query.actions : actionsOf(action)
    return data.read(async (db) => {
      const by = actor === undefined ? {} : await actorOf(db, actor)
      const target = filter.target === undefined ? undefined : await targetOf(db, filter.target)
      return work(db, { ...filter, ...by, target, actions })
    }, none)
  }
  return {
    /** Oldest first. @throws Failure `usage` for an unknown action, `not_found` for an unknown actor or target */
    listChanges: async (query: AuditQuery): Promise<AuditEntry[]> => read(query, [], listAuditEntries),
    /** The number of entries, whatever the limit is. Otherwise as `listChanges`. */
    countChanges: async (query: AuditQuery): Promise<number> => read(query, 0, countAuditEntries),
  }
}

/** `key.create` is one action, `key` all actions on keys. */
function actionsOf(name: string): AuditAction[] {
  const meant = auditActions.filter((action) => action === name || action.startsWith(`${name}.`))
  if (meant.length > 0) return meant
  const kinds = [...new Set(auditActions.map((action) => action.slice(0, action.indexOf('.'))))]
  const near = nearest(name, [...auditActions, ...kinds])
  throw new Failure('usage', `Unknown action "${name}" of the audit log`, {
    hint: near ? `Did you mean ${near}?` : `Known actions: ${auditActions.join(', ')}`,
  })
}

/** A user, or else the keys with an ID or name: revoked keys too, and a rotated key has the name of the old one. */
async function actorOf(db: Database, name: string): Promise<Pick<AuditFilter, 'actor' | 'keyIds'>> {
  if (/^(machine(:.*)?|anonymous|deleted_.*)$/.test(name)) return { actor: name }
  const user = await findUser(db, name)
  if (user) return { actor: user.id }
  const isMeant = db.selectFrom('api_keys').select('id')
  const keys = await isMeant.where((of) => of.or([of('id', '=', name), of('name', '=', name)])).execute()
  if (keys.length > 0) return { keyIds: keys.map(({ id }) => id) }
  throw new Failure('not_found', `No user or API key "${name}"`, {
    advice: [{ code: 'list_users' }, { code: 'list_keys' }],
  })
}

/** A user, or any other target of an entry, such as a key, a trust, or one of the two documents. */
async function targetOf(db: Database, name: string): Promise<string> {
  // First: a stranger chooses the target of `trust.refused`, and must not hide the entries of a user.
  const user = await findUser(db, name)
  if (user) return user.id
  if (name === 'settings' || name === 'api_configuration') return name
  const entries = db.selectFrom('audit_log').select('seq').where('target', '=', name)
  if (await entries.limit(1).executeTakeFirst()) return name
  throw new Failure('not_found', `No user, API key, or trust "${name}"`, {
    advice: [{ code: 'list_users' }, { code: 'list_keys' }, { code: 'list_trusts' }],
  })
}
