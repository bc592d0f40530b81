import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import { covers, listPermissions, type Principal } from '../../domain/access/permissions.ts'
import { issueExchangedToken, issueToken } from '../../domain/access/trusts.ts'
import { auditContextOf, recordChange } from '../../domain/audit.ts'
import type { Database } from '../../store/tables.ts'
import { clientId, tokenExchange } from '../metadata.ts'
import { scopeNames, scopes } from '../scopes.ts'
import { TokenBuckets } from '../token-buckets.ts'
import { type IssuerKeys, UnreadableKeys } from './issuer-keys.ts'
import { RefusedIdentity, verifyIdentityToken } from './verify-identity-token.ts'

/** A request of the token endpoint whose grant is another token. */
interface ExchangeRequest {
  form: URLSearchParams
  /** The client's network address. */
  address: string
  requestId: string | null
}

const types = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
  assertion: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
} as const

/** Finds the principal of a credential. @throws ApiError `unauthorized` */
export type Authenticate = (credential: string) => Promise<Principal>

/** Of a token that is exchanged for a credential, in seconds. */
const maxLifetime = 12 * 3600

/** Exchanges identity tokens of CI jobs, and credentials of the service, for access tokens. */
export class TokenExchange {
  readonly #db: Database
  readonly #clock: Clock
  readonly #issuer: string
  readonly #authenticate: Authenticate
  readonly #issuerKeys: IssuerKeys
  readonly #requests: TokenBuckets
  readonly #exchanges: TokenBuckets
  readonly #refusals: TokenBuckets
  readonly #allRefusals: TokenBuckets

  /** @param issuer the origin of the service */
  constructor(db: Database, clock: Clock, issuer: string, authenticate: Authenticate, keys: IssuerKeys) {
    this.#db = db
    this.#clock = clock
    this.#issuer = issuer
    this.#authenticate = authenticate
    this.#issuerKeys = keys
    // Of a network; checking a signature takes time.
    this.#requests = new TokenBuckets(clock, { burst: 200, perSecond: 20 })
    // With one trust or credential: each exchange writes to the database.
    this.#exchanges = new TokenBuckets(clock, { burst: 60, perSecond: 1 })
    // That the audit log shows, of a network and of all: strangers must not fill it.
    this.#refusals = new TokenBuckets(clock, { burst: 10, perSecond: 1 / 60 })
    this.#allRefusals = new TokenBuckets(clock, { burst: 60, perSecond: 1 / 60 })
  }

  /** @returns the response of RFC 6749 section 5.1 and RFC 8693 section 2.2.1 @throws OAuthError; as the database */
  async exchange(request: ExchangeRequest) {
    const { form, address } = request
    if (!this.#requests.takeFor(address)) throw tooMany('from your network')
    const isExchange = form.get('grant_type') === tokenExchange
    const token = isExchange ? readSubjectToken(form) : readAssertion(form)
    const given = form.get('client_id')
    if (given !== null && given !== clientId) {
      throw new OAuthError(401, 'invalid_client', `the only client is ${clientId}`)
    }
    const targets = [...form.getAll('resource'), ...form.getAll('audience')]
    if (targets.some((target) => target.replace(/\/$/, '') !== this.#issuer)) {
      throw new OAuthError(400, 'invalid_target', `the only target is ${this.#issuer}`)
    }
    const isOfService = isExchange && form.get('subject_token_type') === types.accessToken
    const { scope, ...issued } = isOfService
      ? await this.#exchangeCredential(token, request)
      : await this.#exchangeIdentity(token, isExchange, request)
    return {
      ...issued,
      token_type: 'Bearer',
      ...(isExchange && { issued_token_type: types.accessToken }),
      ...(form.has('scope') && { scope }),
    }
  }

  async #exchangeIdentity(token: string, isExchange: boolean, request: ExchangeRequest) {
    const { trust, subject } = await this.#verify(token, isExchange, request)
    if (!this.#exchanges.take(trust.id)) throw tooMany(`with the trust ${trust.name}`)
    const { permissions, scope } = narrow((one) => covers(trust.permissions, one), request.form)
    const actor = { userId: trust.user_id, keyId: `trust:${trust.name}` }
    const by = auditContextOf(actor, request.requestId, this.#clock)
    const issued = await issueToken(this.#db, trust, permissions, subject, by)
    if (!issued) {
      const { issuer, audience } = trust
      const why = 'the trust was revoked, or its user is disabled'
      await this.#recordRefusal(new RefusedIdentity(why, { issuer, subject, audience }), request)
      throw refusal(isExchange)
    }
    return { access_token: issued.token, expires_in: issued.expiresIn, scope }
  }

  async #exchangeCredential(token: string, request: ExchangeRequest) {
    const principal = await this.#authenticate(token).catch((error: unknown) => {
      const isUnknown = error instanceof ApiError && error.code === 'unauthorized'
      throw isUnknown ? invalidRequest('the subject token is unknown, revoked, or expired') : error
    })
    const { keyId, source, expiresAt } = principal
    if (source === null) throw invalidRequest('this token cannot be exchanged again')
    if (!this.#exchanges.take(keyId)) throw tooMany('with this credential')
    const { permissions, scope } = narrow(principal.can, request.form)
    const now = this.#clock.now()
    const last = expiresAt === null ? Infinity : Date.parse(expiresAt)
    const ends = Math.min(now + readLifetime(request.form) * 1000, last)
    const by = auditContextOf(principal, request.requestId, this.#clock)
    const granted = { permissions, expires_at: new Date(ends).toISOString() }
    const { key } = await issueExchangedToken(this.#db, principal, granted, by)
    return { access_token: key, expires_in: Math.floor((ends - now) / 1000), scope }
  }

  async #verify(token: string, isExchange: boolean, request: ExchangeRequest) {
    const parts = { db: this.#db, issuerKeys: this.#issuerKeys, clock: this.#clock }
    try {
      return await verifyIdentityToken(token, parts)
    } catch (error) {
      if (error instanceof RefusedIdentity) {
        await this.#recordRefusal(error, request)
        throw refusal(isExchange)
      }
      if (error instanceof UnreadableKeys) {
        const cause = new ApiError('issuer_unreachable', 'The keys of an issuer cannot be read', {
          cause: error,
        })
        const description = 'the keys of the issuer cannot be read'
        throw new OAuthError(503, 'temporarily_unavailable', description, { retryAfter: 5, cause })
      }
      throw error
    }
  }

  async #recordRefusal({ message, claims }: RefusedIdentity, { address, requestId }: ExchangeRequest) {
    if (!this.#refusals.takeFor(address) || !this.#allRefusals.take('all')) return
    const by = auditContextOf({ userId: 'anonymous', keyId: null }, requestId, this.#clock)
    const after = { reason: message, ...claims, address }
    await recordChange(this.#db, by, {
      action: 'trust.refused',
      target: shorten(claims.issuer ?? 'unknown'),
      before: null,
      after: Object.fromEntries(Object.entries(after).map(([name, value]) => [name, shortenAll(value)])),
    })
  }
}

/** RFC 8693 section 2.1. @throws OAuthError */
function readSubjectToken(form: URLSearchParams): string {
  requireSingle(form)
  const token = form.get('subject_token')
  const type = form.get('subject_token_type')
  const wanted = form.get('requested_token_type') ?? types.accessToken
  if (!token) throw invalidRequest('subject_token is missing')
  if (type !== types.idToken && type !== types.jwt && type !== types.accessToken) {
    throw invalidRequest(`subject_token_type must be ${types.accessToken}, ${types.idToken}, or ${types.jwt}`)
  }
  if (wanted !== types.accessToken) throw invalidRequest(`requested_token_type must be ${types.accessToken}`)
  if (form.has('actor_token')) throw invalidRequest('actor_token is not supported')
  return token
}

/** RFC 7523 section 2.2. @throws OAuthError */
function readAssertion(form: URLSearchParams): string {
  requireSingle(form)
  const token = form.get('client_assertion')
  if (!token) throw new OAuthError(401, 'invalid_client', 'client_assertion is missing')
  if (form.get('client_assertion_type') !== types.assertion) {
    throw invalidRequest(`client_assertion_type must be ${types.assertion}`)
  }
  return token
}

/** Parameters must not be repeated (RFC 6749 section 3.2), except those of RFC 8693 section 2.1. */
function requireSingle(form: URLSearchParams): void {
  const names = [...form.keys()].filter((name) => name !== 'resource' && name !== 'audience')
  if (new Set(names).size < names.length) throw invalidRequest('a parameter is repeated')
}

const invalidRequest = (description: string) => new OAuthError(400, 'invalid_request', description)

const invalidScope = (description: string) => new OAuthError(400, 'invalid_scope', description)

/** The same for every reason, which only the audit log has. RFC 8693 section 2.2.2, RFC 7523 section 3.2. */
const refusal = (isExchange: boolean) =>
  isExchange
    ? invalidRequest('the identity token was rejected')
    : new OAuthError(401, 'invalid_client', 'the identity token was rejected')

const tooMany = (where: string) =>
  new OAuthError(429, 'temporarily_unavailable', `too many exchanges ${where}`, { retryAfter: 1 })

/** In seconds. The parameter is an extension, because RFC 8693 has none. */
function readLifetime(form: URLSearchParams): number {
  const text = form.get('requested_expires_in') ?? '3600'
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= maxLifetime) return Number(text)
  throw invalidRequest(`requested_expires_in must be 1 to ${maxLifetime} seconds (12 hours)`)
}

/**
 * What a credential has of the requested permissions and scopes, by default of all.
 * @throws OAuthError for a name of which it has nothing
 */
function narrow(can: (permission: string) => boolean, form: URLSearchParams) {
  const scope = form.get('scope') ?? 'admin'
  const known = listPermissions()
  const parts = scopeNames(scope).map((name) => {
    const wanted = scopes[name]?.permissions ?? [name]
    if (![...known, ...Object.keys(scopes)].includes(name))
      throw invalidScope(`unknown scope or permission ${name}`)
    const named = known.filter((one) => covers(wanted, one))
    const held = named.filter(can)
    if (held.length === 0) throw invalidScope(`the credential does not have ${name}`)
    return { held, isWhole: held.length === named.length }
  })
  const all = [...new Set(parts.flatMap(({ held }) => held))]
  const permissions = all.filter((one) => !all.some((other) => other !== one && covers([other], one)))
  return { permissions, scope: parts.every(({ isWhole }) => isWhole) ? scope : permissions.join(' ') }
}

/** Claims in the audit log: they come from strangers. */
const shorten = (text: string) =>
  text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text.toWellFormed()

function shortenAll(value: string | string[] | undefined): string | string[] | undefined {
  if (typeof value === 'string') return shorten(value)
  return value?.slice(0, 5).map(shorten)
}

/** An error response of the token endpoint (RFC 6749 section 5.2). */
export class OAuthError extends Error {
  readonly status: number
  readonly code: string
  /** In seconds. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string,
    description: string,
    { retryAfter, cause }: { retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(description, { cause })
    this.status = status
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** Keeps headers that were set before, such as those of CORS. */
export function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers })
    .end(JSON.stringify(body))
}
