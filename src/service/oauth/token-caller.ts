import type { Caller } from '../domain/caller.ts'
import { tierLimits } from '../domain/keys.ts'
import { includes, rightsOf } from '../domain/permissions.ts'
import type { Database } from '../store/tables.ts'
import { digest } from './references.ts'
import { endedSession } from './revoke.ts'
import { permissionsOf, scopeNames } from './scopes.ts'

/**
 * Whom an access token acts for. Read at each request: a token whose grant or session was ended is
 * undefined at once, as one that is unknown or past its end.
 */
export async function findTokenCaller(db: Database, token: string): Promise<Caller | undefined> {
  const now = Math.floor(Date.now() / 1000)
  const row = await db
    .selectFrom('oauth_records as token')
    .innerJoin('oauth_records as grant', (join) =>
      join.onRef('grant.id_hash', '=', 'token.grant_hash').on('grant.model', '=', 'Grant'),
    )
    .innerJoin('users', 'users.id', 'token.user_id')
    .select(['token.payload', 'users.id', 'users.role', 'users.permissions'])
    .where('token.model', '=', 'AccessToken')
    .where('token.id_hash', '=', digest(token))
    .where('token.expires_at', '>', now)
    .where('grant.expires_at', '>', now)
    .where((eb) => eb.not(eb.exists(endedSession(eb, 'token.uid_hash'))))
    .executeTakeFirst()
  if (!row) return undefined
  const ofUser = rightsOf(row.role, JSON.parse(row.permissions))
  const ofToken = permissionsOf(scopeNames(String(JSON.parse(row.payload).scope ?? '')))
  return {
    keyId: `oauth:${row.id}`,
    userId: row.id,
    may: (permission) => includes(ofUser, permission) && includes(ofToken, permission),
    hourlyLimit: tierLimits.pro,
    isCounted: true,
  }
}
