import { AsyncLocalStorage } from 'node:async_hooks'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { Database } from '../store/tables.ts'
import { type BrowserInteractions, isAnonymous } from './browser/browser-interactions.ts'
import type { BrowserRequest } from './browser/browser-request.ts'
import { endedSession, endGrants } from './browser/sign-in-sessions.ts'
import { digestOfUserCode } from './device-requests.ts'
import { convertTimes, inSeconds, isTooOld } from './lifetimes.ts'
import { paths } from './metadata.ts'
import { recordSignIn } from './record-sign-ins.ts'
import { createExpiredRemover, digest, digestOfReference, readPayload, writePayload } from './records.ts'
import { TokenBuckets } from './token-buckets.ts'

/** oidc-provider does not pass the current request to its adapter. */
export const currentRequest = new AsyncLocalStorage<BrowserRequest>()

/**
 * The storage of oidc-provider: the table `oauth_records`, for all processes of one database.
 * @param browsers stores anonymous interactions; without it, they are records too
 */
export function createAdapters(
  db: Database,
  clock: Clock,
  browsers?: BrowserInteractions,
  removeExpired = createExpiredRemover(db, clock),
): (model: string) => Adapter {
  return (model) => {
    const adapter = createAdapter(db, clock, model, removeExpired)
    return browsers && model === 'Interaction' ? keepAnonymousInBrowsers(adapter, browsers) : adapter
  }
}

/** An interaction becomes a record once the password is correct. */
function keepAnonymousInBrowsers(records: Adapter, browsers: BrowserInteractions): Adapter {
  const visit = () => {
    const current = currentRequest.getStore()
    if (!current) throw new Error('an interaction belongs to a request')
    return current
  }
  return {
    ...records,
    async upsert(id, payload, life) {
      if (isAnonymous(payload)) return browsers.write(id, payload, visit())
      await records.upsert(id, payload, life)
      browsers.remove(id, visit())
    },
    find: async (id) => (await records.find(id)) ?? browsers.read(id, visit()),
    async destroy(id) {
      await records.destroy(id)
      browsers.remove(id, visit())
    },
  }
}

/** Polls with one device code: RFC 8628 section 3.5 has a default interval of 5 s. */
const pollCapacity = { burst: 2, perSecond: 1 / 5 }

function createAdapter(db: Database, clock: Clock, model: string, removeExpired: () => void): Adapter {
  // Clients never send the id of a grant. Only other records name it, with references.
  const key = model === 'Grant' ? digestOfReference : digest
  const polls = new TokenBuckets(clock, pollCapacity)
  return {
    async upsert(id, payload, expiresIn) {
      const visit = currentRequest.getStore()
      const now = inSeconds(clock)
      const seen = { at: now, address: visit?.address, agent: visit?.agent }
      const row = {
        payload: writePayload(id, { ...convertTimes(payload, clock, 'in'), seen }),
        uid_hash: digestOfOptional(payload.uid ?? payload['sessionUid']),
        grant_hash: digestOfOptional(payload.grantId),
        user_id: payload.accountId ?? null,
        expires_at: expiresIn ? now + expiresIn : null,
      }
      const userCode = payload.userCode === undefined ? null : digestOfUserCode(payload.userCode)
      const created = { model, id_hash: key(id), created_at: isoNow(clock), user_code_hash: userCode }
      await db
        .insertInto('oauth_records')
        .values({ ...row, ...created, consumed_at: null })
        .onConflict((conflict) => conflict.columns(['model', 'id_hash']).doUpdateSet(row))
        .execute()
      const { user_id: userId, grant_hash: hash } = row
      // A token that comes from a refresh token does not begin a session. If this fails, no program gets the token.
      if (
        visit &&
        model === 'AccessToken' &&
        userId &&
        hash &&
        !String(payload['gty']).endsWith('refresh_token')
      ) {
        const session = { userId, kind: 'program', hash, scope: payload.scope } as const
        await recordSignIn({ db, clock }, visit, 'sign_in.succeeded', session)
      }
      removeExpired()
    },
    async find(id) {
      if (model === 'DeviceCode' && !polls.take(key(id))) throw new errors.SlowDown()
      return findRecord(db, clock, { model, column: 'id_hash', hash: key(id), id })
    },
    findByUid: (uid) => findRecord(db, clock, { model, column: 'uid_hash', hash: digestOfReference(uid) }),
    // Not called: `device.ts` finds user codes.
    findByUserCode: async () => undefined,
    async consume(id) {
      const first = await db
        .updateTable('oauth_records')
        .set({ consumed_at: inSeconds(clock) })
        .where('model', '=', model)
        .where('id_hash', '=', key(id))
        .where('consumed_at', 'is', null)
        .executeTakeFirst()
      if (first.numUpdatedRows > 0n) return
      // Another request has used it before, perhaps in another process: one of the two may be an attacker's.
      const used = await db
        .selectFrom('oauth_records')
        .select('grant_hash')
        .where('model', '=', model)
        .where('id_hash', '=', key(id))
        .executeTakeFirst()
      if (used?.grant_hash) await endGrants(db, [used.grant_hash])
      throw new errors.InvalidGrant('it was already used')
    },
    async destroy(id) {
      await db.deleteFrom('oauth_records').where('model', '=', model).where('id_hash', '=', key(id)).execute()
    },
    async revokeByGrantId(grantId) {
      const hash = digestOfReference(grantId)
      const ended = await endGrants(db, [hash])
      const userId = ended.find((record) => record.model === 'Grant')?.user_id
      const visit = currentRequest.getStore()
      if (!userId || visit?.url.pathname !== paths.revoke) return
      await recordSignIn({ db, clock }, visit, 'sign_out', { userId, kind: 'program', hash })
    },
  }
}

const digestOfOptional = (id: unknown): string | null =>
  typeof id === 'string' ? digestOfReference(id) : null

/** Undefined for an expired record, or one of a session that was ended. */
async function findRecord(
  db: Database,
  clock: Clock,
  { model, column, hash, id }: { model: string; column: 'id_hash' | 'uid_hash'; hash: string; id?: string },
): Promise<AdapterPayload | undefined> {
  const now = inSeconds(clock)
  const row = await db
    .selectFrom('oauth_records as record')
    .select(['payload', 'expires_at', 'consumed_at'])
    .where('model', '=', model)
    .where(column, '=', hash)
    // An expired device code is found until it is removed, so that the program learns that it has expired.
    .$if(model !== 'DeviceCode', (query) =>
      query.where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)])),
    )
    .where((eb) => eb.not(eb.exists(endedSession(eb, 'record.uid_hash'))))
    .executeTakeFirst()
  if (!row) return undefined
  const payload = readPayload(id, row.payload)
  // Each use moves its expiry by at least a second, so the expiry alone does not limit its age.
  if (model === 'Session' && isTooOld(payload['loginTs'], now)) return undefined
  const found = {
    ...payload,
    ...(row.expires_at !== null && { exp: row.expires_at }),
    ...(row.consumed_at !== null && { consumed: row.consumed_at }),
  }
  return convertTimes(found, clock, 'out')
}
