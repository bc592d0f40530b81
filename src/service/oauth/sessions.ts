import type { ExpressionBuilder } from 'kysely'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { Database, Tables } from '../store/tables.ts'
import { inSeconds } from './lifetimes.ts'

/** A sign-in that lasts: of a browser, or of a program that a person let act for them. */
export interface SignInSession {
  /** Made of a digest: it names the session and opens nothing. */
  id: string
  kind: 'browser' | 'program'
  user_id: string
  email: string
  /** What a program may do; empty for a browser. */
  scope: string
  /** The User-Agent that was there last. */
  agent: string
  /** The network address that was there last. */
  address: string
  created_at: string
  /** Of a program: when it last got a token, once an hour while it works. */
  last_used_at: string
  expires_at: string
}

/** The whole digest stays inside: with it alone a session can be ended. */
type StoredSession = SignInSession & { hash: string }

/** How much of a digest tells sessions apart: 80 bits, hex. */
const idLength = 20

export const sessionIdOf = (hash: string): string => `ses_${hash.slice(0, idLength)}`

/** All sessions, or those of one person, in the order in which they began. */
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
  const found: StoredSession[] = []
  for (const { model, id_hash: idHash, uid_hash: uidHash, ...row } of read) {
    const { written } = row
    if (model === 'Session' && uidHash !== null) {
      found.push(present({ ...row, hash: uidHash, kind: 'browser', begun: written.loginTs, last: [row] }))
    }
    if (model !== 'Grant') continue
    const tokens = byGrant.get(idHash) ?? []
    // One that never got as far as a token, or has none any more, is none.
    if (tokens.length === 0) continue
    found.push(present({ ...row, hash: idHash, kind: 'program', begun: written.iat, last: tokens }))
  }
  return found.sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
}

/** What of a payload is looked at. Times are Unix seconds. */
interface RecordPayload {
  iat?: number
  loginTs?: number
  scope?: string
  openid?: { scope?: string }
  seen: { at: number; agent?: string; address?: string }
}

interface Row {
  written: RecordPayload
  expires_at: number | null
}

function present(
  row: Row & {
    hash: string
    kind: StoredSession['kind']
    begun: number | undefined
    last: Row[]
    user_id: string | null
    email: string
  },
): StoredSession {
  const { hash, kind, begun: startedAt, last, user_id: userId, email, written } = row
  const { seen } = last.map((token) => token.written).reduce((a, b) => (b.seen.at > a.seen.at ? b : a))
  // A program's sign-in ends with its grant, or when none of its tokens can be used any more.
  const end = Math.max(...last.map((token) => token.expires_at ?? 0))
  return {
    hash,
    id: sessionIdOf(hash),
    kind,
    user_id: userId ?? '',
    email,
    scope: written.openid?.scope ?? '',
    agent: seen.agent ?? '',
    address: seen.address ?? '',
    created_at: toIsoTime(startedAt ?? seen.at),
    last_used_at: toIsoTime(seen.at),
    expires_at: toIsoTime(Math.min(end, row.expires_at ?? end)),
  }
}

const toIsoTime = (seconds: number): string => new Date(seconds * 1000).toISOString()

/**
 * Ends sessions: a browser's with all that was signed in through it, a program's with its tokens.
 * @param also what is written in the same transaction
 */
export async function endSessions(
  db: Database,
  clock: Clock,
  sessions: readonly StoredSession[],
  also: (transaction: Database) => Promise<void> = async () => {},
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await endStoredSessions(transaction, clock, sessions)
    await also(transaction)
  })
}

/** Ends all sessions of a person but `kept`; must run inside a transaction. */
export async function endOtherSessions(
  transaction: Database,
  clock: Clock,
  userId: string,
  kept: string,
): Promise<void> {
  const all = await listSessions(transaction, clock, userId)
  await endStoredSessions(
    transaction,
    clock,
    all.filter(({ id }) => id !== kept),
  )
}

async function endStoredSessions(
  transaction: Database,
  clock: Clock,
  sessions: readonly StoredSession[],
): Promise<void> {
  const hashes = (kind: StoredSession['kind']) =>
    sessions.filter((session) => session.kind === kind).map(({ hash }) => hash)
  await endBrowserSessions(transaction, clock, hashes('browser'))
  await endGrants(transaction, hashes('program'))
}

/** The longest that a session can still be written by a request that was under way when it was ended. */
const endedLifetime = 86_400

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
 * Ends all that a person signed in to, and every sign-in of theirs that is half done: whoever has
 * shown the password has it in an interaction for an hour. Must run inside a transaction.
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
