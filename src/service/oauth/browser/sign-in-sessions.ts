import type { ExpressionBuilder } from 'kysely'
import { type Clock, isoNow } from '../../../system/clock.ts'
import { type AuditContext, recordChange } from '../../domain/audit.ts'
import type { Database, Tables } from '../../store/tables.ts'
import { inSeconds } from '../lifetimes.ts'

/** A sign-in session of a browser, or of a program that a user has authorized. */
export interface SignInSession {
  /** Part of a digest: it names the session and grants no access. */
  id: string
  kind: 'browser' | 'program'
  user_id: string
  email: string
  /** The scope of a program; empty for a browser. */
  scope: string
  /** The last User-Agent. */
  agent: string
  /** The last network address. */
  address: string
  created_at: string
  /** For a program, when it last got a token: about once an hour while it is used. */
  last_used_at: string
  expires_at: string
}

/** The whole digest is not shown, because it is enough to end the session. */
type StoredSession = SignInSession & { hash: string }

/** Hex digits of the digest in the id: 80 bits. */
const idLength = 20

export const signInSessionIdOf = (hash: string): string => `ses_${hash.slice(0, idLength)}`

/** All sessions, or those of one user, oldest first. */
export async function listSessions(db: Database, clock: Clock, userId?: string): Promise<StoredSession[]> {
  const rows = await db
    .selectFrom('oauth_records as record')
    .innerJoin('users', 'users.id', 'record.user_id')
    .select(['model', 'id_hash', 'uid_hash', 'grant_hash', 'payload', 'user_id', 'expires_at', 'users.email'])
    .where('model', 'in', ['Session', 'Grant', 'RefreshToken', 'AccessToken'])
    .where('expires_at', '>', inSeconds(clock))
    .where('consumed_at', 'is', null)
    .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? ''))
    .execute()
  const read = rows.map((row) => ({ ...row, written: JSON.parse(row.payload) as RecordPayload }))
  const byGrant = Map.groupBy(read, (row) => row.grant_hash)
  const found = read.flatMap((row) => {
    if (row.model === 'Session' && row.uid_hash !== null) return [present(row, row.uid_hash, [row])]
    // A grant without a token is not a session.
    const tokens = row.model === 'Grant' ? byGrant.get(row.id_hash) : undefined
    return tokens ? [present(row, row.id_hash, tokens)] : []
  })
  return found.sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
}

/** The fields of a payload that are used here. Times are Unix seconds. */
interface RecordPayload {
  iat?: number
  loginTs?: number
  scope?: string
  openid?: { scope?: string }
  seen: { at: number; agent?: string; address?: string }
}

interface Row {
  model: string
  written: RecordPayload
  expires_at: number | null
  user_id: string | null
  email: string
}

/** @param last the records that show its last use */
function present(row: Row, hash: string, last: readonly Row[]): StoredSession {
  const { model, written, user_id: userId, email } = row
  const { seen } = last.map((token) => token.written).reduce((a, b) => (b.seen.at > a.seen.at ? b : a))
  // The sign-in session of a program ends with its grant, or when its last token expires.
  const end = Math.max(...last.map((token) => token.expires_at ?? 0))
  return {
    hash,
    id: signInSessionIdOf(hash),
    kind: model === 'Session' ? 'browser' : 'program',
    user_id: userId ?? '',
    email,
    scope: written.openid?.scope ?? '',
    agent: seen.agent ?? '',
    address: seen.address ?? '',
    created_at: toIsoTime(written.loginTs ?? written.iat ?? seen.at),
    last_used_at: toIsoTime(seen.at),
    expires_at: toIsoTime(Math.min(end, row.expires_at ?? end)),
  }
}

const toIsoTime = (seconds: number): string => new Date(seconds * 1000).toISOString()

/**
 * Ends sessions, and records it: of a browser with all sign-ins made in it, of a program with its tokens. Must run
 * inside a transaction.
 */
export async function endSessions(
  transaction: Database,
  by: AuditContext,
  sessions: readonly StoredSession[],
): Promise<void> {
  const hashes = (wanted: StoredSession['kind']) =>
    sessions.filter(({ kind }) => kind === wanted).map(({ hash }) => hash)
  await endBrowserSessions(transaction, by.clock, hashes('browser'))
  await endGrants(transaction, hashes('program'))
  for (const { id, kind, scope, created_at, user_id: target } of sessions) {
    const before = { id, kind, scope, created_at }
    await recordChange(transaction, by, { action: 'session.revoke', target, before, after: null })
  }
}

/** Ends all sessions of the user who acts, except `kept`. Must run inside a transaction. */
export async function endOtherSessions(transaction: Database, by: AuditContext, kept: string): Promise<void> {
  const others = (await listSessions(transaction, by.clock, by.actor)).filter(({ id }) => id !== kept)
  await endSessions(transaction, by, others)
}

/** In seconds. After the end of a session, a request in progress can still write it for less than this time. */
const endedLifetime = 86_400

/** Marks a session as ended, by the digest of its uid. */
const endedModel = 'EndedSession'

/** A subquery for `not exists`, which finds the mark of an ended session. */
export function endedSession<T extends string>(eb: ExpressionBuilder<Tables, never> | object, uid: T) {
  const { selectFrom } = eb as ExpressionBuilder<Tables, 'oauth_records'>
  return selectFrom('oauth_records as ended')
    .select('ended.model')
    .where('ended.model', '=', endedModel)
    .whereRef('ended.id_hash', '=', uid as never)
}

/** Ends grants with all their codes and tokens. A token that is written later finds no grant. @returns the records */
export async function endGrants(db: Database, hashes: readonly string[]) {
  if (hashes.length === 0) return []
  return db
    .deleteFrom('oauth_records')
    .where((eb) =>
      eb.or([
        eb('grant_hash', 'in', hashes),
        eb.and([eb('model', '=', 'Grant'), eb('id_hash', 'in', hashes)]),
      ]),
    )
    .returning(['model', 'user_id'])
    .execute()
}

/**
 * Ends sign-in sessions of browsers, by the digests of their uids, with all grants that were made in them.
 * A request in progress may still write them, but with the mark they are not found. Must run inside a
 * transaction.
 */
async function endBrowserSessions(db: Database, clock: Clock, uidHashes: readonly string[]): Promise<void> {
  if (uidHashes.length === 0) return
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
        expires_at: inSeconds(clock) + endedLifetime,
        created_at: isoNow(clock),
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
 * Ends all sessions of a user, and their sign-ins in progress: an interaction contains the result of a
 * correct password for an hour. Must run inside a transaction.
 */
export async function endSignIns(db: Database, clock: Clock, userId: string): Promise<void> {
  const sessions = await db
    .selectFrom('oauth_records')
    .select('uid_hash')
    .where('model', '=', 'Session')
    .where('user_id', '=', userId)
    .execute()
  await endBrowserSessions(
    db,
    clock,
    sessions.flatMap(({ uid_hash: hash }) => hash ?? []),
  )
  await db.deleteFrom('oauth_records').where('user_id', '=', userId).execute()
  await db
    .deleteFrom('oauth_records')
    .where('model', '=', 'Interaction')
    .where('payload', 'like', `%"${userId}"%`)
    .execute()
}
