import { AsyncLocalStorage } from 'node:async_hooks'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Database } from '../store/tables.ts'
import { isTooOld } from './lives.ts'
import { digest, digestOf, readPayload, writePayload } from './references.ts'
import { endedSession, endGrants } from './revoke.ts'
import { createSweeper } from './sweep.ts'
import { unixNow } from './unix-now.ts'

/** From where a record was written; a person recognises their sessions by it. */
interface Sender {
  /** The client's network address. */
  address: string
  /** Its User-Agent. */
  agent: string
}

/** Whose request is being answered: oidc-provider does not tell its store. */
export const requestSender = new AsyncLocalStorage<Sender>()

/** What oidc-provider remembers, in the table `oauth_records`, for all processes of one database. */
export function createAdapters(db: Database): (model: string) => Adapter {
  const sweep = createSweeper(db)
  return (model) => createAdapter(db, model, sweep)
}

function createAdapter(db: Database, model: string, sweep: () => void): Adapter {
  // A grant is never named from outside, only by other records, and those hold references.
  const key = model === 'Grant' ? digestOf : digest
  return {
    async upsert(id, payload, expiresIn) {
      const row = {
        payload: writePayload(id, { ...payload, seen: { at: unixNow(), ...requestSender.getStore() } }),
        uid_hash: digestOfOptional(payload.uid ?? payload['sessionUid']),
        grant_hash: digestOfOptional(payload.grantId),
        user_id: payload.accountId ?? null,
        expires_at: expiresIn ? unixNow() + expiresIn : null,
      }
      const created = { model, id_hash: key(id), created_at: new Date().toISOString(), user_code_hash: null }
      await db
        .insertInto('oauth_records')
        .values({ ...row, ...created, consumed_at: null })
        .onConflict((conflict) => conflict.columns(['model', 'id_hash']).doUpdateSet(row))
        .execute()
      sweep()
    },
    find: (id) => findRecord(db, model, 'id_hash', key(id), id),
    findByUid: (uid) => findRecord(db, model, 'uid_hash', digestOf(uid), undefined),
    // The device flow is not offered.
    findByUserCode: async () => undefined,
    async consume(id) {
      const first = await db
        .updateTable('oauth_records')
        .set({ consumed_at: unixNow() })
        .where('model', '=', model)
        .where('id_hash', '=', key(id))
        .where('consumed_at', 'is', null)
        .executeTakeFirst()
      if (first.numUpdatedRows > 0n) return
      // Another request came first, perhaps to another process: one of the two is a thief's.
      const used = await db
        .selectFrom('oauth_records')
        .select('grant_hash')
        .where('model', '=', model)
        .where('id_hash', '=', key(id))
        .executeTakeFirst()
      if (used?.grant_hash) await endGrants(db, [used.grant_hash])
      throw new errors.InvalidGrant('it has been used before')
    },
    async destroy(id) {
      await db.deleteFrom('oauth_records').where('model', '=', model).where('id_hash', '=', key(id)).execute()
    },
    revokeByGrantId: (grantId) => endGrants(db, [digestOf(grantId)]),
  }
}

const digestOfOptional = (id: unknown): string | null => (typeof id === 'string' ? digestOf(id) : null)

/** Nothing for what is past its end, or belongs to a session that was ended. */
async function findRecord(
  db: Database,
  model: string,
  column: 'id_hash' | 'uid_hash',
  hash: string,
  id: string | undefined,
): Promise<AdapterPayload | undefined> {
  const row = await db
    .selectFrom('oauth_records as record')
    .select(['payload', 'expires_at', 'consumed_at'])
    .where('model', '=', model)
    .where(column, '=', hash)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', unixNow())]))
    .where((eb) => eb.not(eb.exists(endedSession(eb, 'record.uid_hash'))))
    .executeTakeFirst()
  if (!row) return undefined
  const payload = readPayload(id, row.payload)
  // Its end is moved with each use, and never by less than a second.
  if (model === 'Session' && isTooOld(payload['loginTs'])) return undefined
  return {
    ...payload,
    ...(row.expires_at !== null && { exp: row.expires_at }),
    ...(row.consumed_at !== null && { consumed: row.consumed_at }),
  }
}
