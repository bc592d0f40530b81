import type { Clock } from '../../system/clock.ts'
import { tierLimits } from '../domain/access/keys.ts'
import { covers, type Principal, userPermissions } from '../domain/access/permissions.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import type { Database } from '../store/tables.ts'
import { endedSession } from './browser/sign-in-sessions.ts'
import { inSeconds } from './lifetimes.ts'
import { digest } from './record-payload.ts'
import { permissionsOf, scopeNames, scopesGranting } from './scopes.ts'

/**
 * The principal of an access token. It is read for each request, so that a token is refused as soon as its
 * grant or session was ended. Undefined for such a token, and for an unknown or expired one.
 */
export async function findTokenPrincipal(
  db: Database,
  token: string,
  clock: Clock,
): Promise<Principal | undefined> {
  const [row] = await selectToken(db, { hash: digest(token), now: inSeconds(clock) })
  if (!row) return undefined
  const ofUser = userPermissions(row.id, row.role, JSON.parse(row.permissions))
  const ofToken = permissionsOf(scopeNames(String(JSON.parse(row.payload).scope ?? '')))
  return {
    keyId: `oauth:${row.id}`,
    userId: row.id,
    can: (permission) => covers(ofUser, permission) && covers(ofToken, permission),
    denialReason: (permission) =>
      covers(ofUser, permission)
        ? `the sign-in did not request it; sign in again with the scope ${scopesGranting(permission).join(' or ')}`
        : 'the signed-in user does not have it',
    hourlyLimit: tierLimits.pro,
    expiresAt: new Date(Number(row.expires_at) * 1000).toISOString(),
    isRateLimited: true,
  }
}

const selectToken = prepareQuery((db, { hash, now }: { hash: string; now: number }) =>
  db
    .selectFrom('oauth_records as token')
    .innerJoin('oauth_records as grant', (join) =>
      join.onRef('grant.id_hash', '=', 'token.grant_hash').on('grant.model', '=', 'Grant'),
    )
    .innerJoin('users', 'users.id', 'token.user_id')
    .select(['token.payload', 'token.expires_at', 'users.id', 'users.role', 'users.permissions'])
    .where('token.model', '=', 'AccessToken')
    .where('token.id_hash', '=', hash)
    .where('token.expires_at', '>', now)
    .where('grant.expires_at', '>', now)
    .where((eb) => eb.not(eb.exists(endedSession(eb, 'token.uid_hash')))),
)
