import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import type { KeyAuthenticator } from '../../domain/access/key-authenticator.ts'
import { tierLimits } from '../../domain/access/keys.ts'
import {
  adminId,
  covers,
  type Permission,
  type Principal,
  userPermissions,
} from '../../domain/access/permissions.ts'
import { endedSession } from '../../oauth/browser/sign-in-sessions.ts'
import { inSeconds } from '../../oauth/lifetimes.ts'
import { digest } from '../../oauth/records.ts'
import { permissionsOf, scopeNames, scopesGranting } from '../../oauth/scopes.ts'
import { prepareQuery } from '../../store/prepared-query.ts'
import type { Database } from '../../store/tables.ts'

/** Whether a key exists only in this process. It acts as the built-in admin. */
export type IsProcessKey = (key: string) => boolean

/** Where `authenticate` looks up the credential of a request. */
export interface CredentialSources {
  keys: KeyAuthenticator
  db: Database
  isProcessKey: IsProcessKey
  clock: Clock
}

const processPrincipal: Principal = {
  keyId: 'process',
  userId: adminId,
  can: () => true,
  denialReason: () => 'the API key does not have it',
  hourlyLimit: null,
  expiresAt: null,
  source: null,
  isRateLimited: false,
}

/** RFC 6750 section 2.1. The name of the scheme is case-insensitive (RFC 9110 section 11.1). */
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * The principal of a request.
 * @throws ApiError `unauthorized`, with the same message for an unknown, a revoked, and an expired key
 */
export function authenticate(
  credentials: CredentialSources,
  { authorization = '' }: Readonly<IncomingHttpHeaders>,
): Principal | Promise<Principal> {
  const key = bearer.exec(authorization)?.[1]
  if (key === undefined && !authorization.toLowerCase().startsWith('bearer ')) {
    throw new ApiError('unauthorized', 'Missing API key: send the header Authorization: Bearer <API_KEY>')
  }
  const principal = key === undefined ? undefined : findPrincipal(credentials, key)
  return principal instanceof Promise ? principal.then(requirePrincipal) : requirePrincipal(principal)
}

function requirePrincipal(principal: Principal | undefined): Principal {
  if (!principal) throw new ApiError('unauthorized', 'Invalid API key')
  return principal
}

/** The format of `generateKey`. Other access tokens are shorter. */
const keyPattern = /^c[kt]_[A-Za-z0-9_-]{43}$/

/** Anything that does not have the format of a key may be an access token. */
function findPrincipal(
  { keys, db, isProcessKey, clock }: CredentialSources,
  key: string,
): Principal | undefined | Promise<Principal | undefined> {
  if (isProcessKey(key)) return processPrincipal
  return keyPattern.test(key) ? keys.find(key) : findTokenPrincipal(db, key, clock)
}

/** @throws ApiError `forbidden`, which names the missing permission and who does not have it */
export function authorize(principal: Principal, permission: Permission): void {
  if (principal.can(permission)) return
  throw new ApiError('forbidden', `Missing permission ${permission}: ${principal.denialReason(permission)}`, {
    details: { missing_permission: permission },
  })
}

/**
 * The principal of an access token. It is read for each request, so that a token is refused as soon as its
 * grant or session was ended. Undefined for such a token, and for an unknown or expired one.
 */
async function findTokenPrincipal(db: Database, token: string, clock: Clock): Promise<Principal | undefined> {
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
    source: row.grant_hash,
    isRateLimited: true,
  }
}

/** By the digest of a token. */
export const selectToken = prepareQuery((db, { hash, now }: { hash: string; now: number }) =>
  db
    .selectFrom('oauth_records as token')
    .innerJoin('oauth_records as grant', (join) =>
      join.onRef('grant.id_hash', '=', 'token.grant_hash').on('grant.model', '=', 'Grant'),
    )
    .innerJoin('users', 'users.id', 'token.user_id')
    .select(['token.payload', 'token.expires_at', 'token.grant_hash'])
    .select(['users.id', 'users.role', 'users.permissions'])
    .where('token.model', '=', 'AccessToken')
    .where('token.id_hash', '=', hash)
    .where('token.expires_at', '>', now)
    .where('users.disabled_at', 'is', null)
    .where('grant.expires_at', '>', now)
    .where((eb) => eb.not(eb.exists(endedSession(eb, 'token.uid_hash')))),
)
