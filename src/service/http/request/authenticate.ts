import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import type { KeyAuthenticator } from '../../domain/access/key-authenticator.ts'
import { adminId, type Permission, type Principal } from '../../domain/access/permissions.ts'
import { findTokenPrincipal } from '../../oauth/token-principal.ts'
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
  if (!keyPattern.test(key)) return findTokenPrincipal(db, key, clock)
  return isProcessKey(key) ? processPrincipal : keys.find(key)
}

/** @throws ApiError `forbidden`, which names the missing permission and who does not have it */
export function authorize(principal: Principal, permission: Permission): void {
  if (principal.can(permission)) return
  throw new ApiError('forbidden', `Missing permission ${permission}: ${principal.denialReason(permission)}`, {
    details: { missing_permission: permission },
  })
}
