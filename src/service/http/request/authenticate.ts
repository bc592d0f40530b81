import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import type { KeyAuthenticator } from '../../domain/access/key-authenticator.ts'
import { hashKey } from '../../domain/access/keys.ts'
import { adminId, type Permission, type Principal } from '../../domain/access/permissions.ts'
import { findTokenPrincipal } from '../../oauth/token-principal.ts'
import type { Database } from '../../store/tables.ts'

/** Digests of the keys that live only in this process; they act as the admin. */
export type ProcessKeys = ReadonlySet<string>

/** Where the credentials of a request are looked up. */
interface CredentialSources {
  keys: KeyAuthenticator
  db: Database
  processKeys: ProcessKeys
  clock: Clock
}

const processPrincipal: Principal = {
  keyId: 'process',
  userId: adminId,
  can: () => true,
  denialReason: () => 'the API key does not have it',
  hourlyLimit: null,
  isRateLimited: false,
}

/** RFC 6750 section 2.1; the scheme's name knows no case (RFC 9110 section 11.1). */
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * Whom a request acts as.
 * @throws ApiError `unauthorized`, in the same words for a key that is unknown, revoked or past its end
 */
export async function authenticate(
  credentials: CredentialSources,
  headers: IncomingHttpHeaders,
): Promise<Principal> {
  if (!headers.authorization?.toLowerCase().startsWith('bearer ')) {
    throw new ApiError('unauthorized', 'Missing API key: send the header Authorization: Bearer <API_KEY>')
  }
  const key = bearer.exec(headers.authorization)?.[1]
  const principal = key === undefined ? undefined : await findPrincipal(credentials, key)
  if (!principal) throw new ApiError('unauthorized', 'Invalid API key')
  return principal
}

/** As `generateKey` makes them; access tokens are shorter. */
const keyPattern = /^ck_[A-Za-z0-9_-]{43}$/

/** A key says of itself that it is one; anything else may be an access token. */
async function findPrincipal(
  { keys: principals, db, processKeys, clock }: CredentialSources,
  key: string,
): Promise<Principal | undefined> {
  if (!keyPattern.test(key)) return findTokenPrincipal(db, key, clock)
  const digest = hashKey(key)
  return processKeys.has(digest) ? processPrincipal : principals.find(digest)
}

/** @throws ApiError `forbidden`, which names what is missing, and to whom */
export function authorize(principal: Principal, permission: Permission): void {
  if (principal.can(permission)) return
  throw new ApiError('forbidden', `Missing permission ${permission}: ${principal.denialReason(permission)}`, {
    details: { missing_permission: permission },
  })
}

/** How long, in ms, a request may take to arrive without being asked again whose it is. */
const promptArrival = 500

/** Whom the requests that are being answered act as. */
export class RequestPrincipals {
  readonly #find: (headers: IncomingHttpHeaders) => Promise<Principal>
  readonly #known = new WeakMap<FastifyRequest, { caller: Principal; at: number }>()

  readonly #clock: Clock

  /** @param find as `authenticate` does it */
  constructor(find: (headers: IncomingHttpHeaders) => Promise<Principal>, clock: Clock) {
    this.#find = find
    this.#clock = clock
  }

  /** Finds out whose a request is. @throws ApiError `unauthorized` */
  async authenticate(request: FastifyRequest): Promise<Principal> {
    const principal = await this.#find(request.headers)
    this.#known.set(request, { caller: principal, at: this.#clock.monotonic() })
    return principal
  }

  /** Undefined for a request of nobody, or before `identify`. */
  find(request: FastifyRequest): Principal | undefined {
    return this.#known.get(request)?.caller
  }

  /** The same where there must be one. @throws ApiError `unauthorized` */
  require(request: FastifyRequest): Principal {
    const principal = this.find(request)
    if (principal) return principal
    throw new ApiError('unauthorized', 'Invalid API key')
  }

  /** Whether a body came so late that rights may have been taken away meanwhile. */
  isLate(request: FastifyRequest): boolean {
    return this.#clock.monotonic() - (this.#known.get(request)?.at ?? 0) > promptArrival
  }
}
