import type { ExpressionBuilder } from 'kysely'
import type { Database, Tables } from '../store/tables.ts'

/** The longest that a session can still be written by a request that was under way when it was ended. */
const memory = 86_400

/** Marks a session as ended, by the digest of its uid. */
const endedModel = 'EndedSession'

/** A mark that the session of a record was ended: a subquery for `not exists`. */
export function endedSession<T extends string>(eb: ExpressionBuilder<Tables, never> | object, uid: T) {
  const { selectFrom } = eb as ExpressionBuilder<Tables, 'oauth_records'>
  return selectFrom('oauth_records as ended')
    .select('ended.model')
    .where('ended.model', '=', endedModel)
    .whereRef('ended.id_hash', '=', uid as never)
}

/** Ends grants with all their codes and tokens. A token that is written later finds no grant. */
export async function endGrants(db: Database, hashes: readonly string[]): Promise<void> {
  if (hashes.length === 0) return
  await db
    .deleteFrom('oauth_records')
    .where((eb) =>
      eb.or([
        eb('grant_hash', 'in', hashes),
        eb.and([eb('model', '=', 'Grant'), eb('id_hash', 'in', hashes)]),
      ]),
    )
    .execute()
}

/**
 * Ends sessions of browsers, by the digests of their uids, with all grants that were made in them.
 * A request that is under way may still write them; the mark makes nothing of that. Must run inside
 * a transaction.
 */
export async function endSessions(db: Database, uidHashes: readonly string[]): Promise<void> {
  if (uidHashes.length === 0) return
  const now = new Date()
  await db
    .insertInto('oauth_records')
    .values(
      uidHashes.map((hash) => ({
        model: endedModel,
        id_hash: hash,
        payload: '{}',
        uid_hash: null,
        user_code_hash: null,
        grant_hash: null,
        user_id: null,
        consumed_at: null,
        expires_at: Math.floor(now.getTime() / 1000) + memory,
        created_at: now.toISOString(),
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const grants = await db
    .selectFrom('oauth_records')
    .select('grant_hash')
    .distinct()
    .where('uid_hash', 'in', uidHashes)
    .where('grant_hash', 'is not', null)
    .execute()
  await endGrants(
    db,
    grants.flatMap(({ grant_hash: hash }) => hash ?? []),
  )
  await db.deleteFrom('oauth_records').where('uid_hash', 'in', uidHashes).execute()
}

/**
 * Ends all that a person signed in to, and every sign-in of theirs that is half done: whoever has
 * shown the password has it in an interaction for an hour. Must run inside a transaction.
 */
export async function endSignIns(db: Database, userId: string): Promise<void> {
  const sessions = await db
    .selectFrom('oauth_records')
    .select('uid_hash')
    .where('model', '=', 'Session')
    .where('user_id', '=', userId)
    .execute()
  await endSessions(
    db,
    sessions.flatMap(({ uid_hash: hash }) => hash ?? []),
  )
  await db.deleteFrom('oauth_records').where('user_id', '=', userId).execute()
  await db
    .deleteFrom('oauth_records')
    .where('model', '=', 'Interaction')
    .where('payload', 'like', `%"${userId}"%`)
    .execute()
}
