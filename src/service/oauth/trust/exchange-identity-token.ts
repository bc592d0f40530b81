import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import { covers, listPermissions } from '../../domain/access/permissions.ts'
import { issueToken, type TrustRecord } from '../../domain/access/trusts.ts'
import { type AuditContext, recordChange } from '../../domain/audit.ts'
import type { Database } from '../../store/tables.ts'
import { clientId, tokenExchange } from '../metadata.ts'
import { scopeNames, scopes, unknownScopes } from '../scopes.ts'
import { TokenBuckets } from '../token-buckets.ts'
import { IssuerKeys, UnreadableKeys } from './issuer-keys.ts'
import { RefusedIdentity, verifyIdentityToken } from './verify-identity-token.ts'

/** A request of the token endpoint whose grant is an identity token. */
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

/** Exchanges identity tokens of CI jobs for access tokens. */
export class IdentityTokenExchange {
  readonly #db: Database
  readonly #clock: Clock
  readonly #issuer: string
  readonly #issuerKeys: IssuerKeys
  readonly #requests: TokenBuckets
  readonly #exchanges: TokenBuckets
  readonly #refusals: TokenBuckets
  readonly #allRefusals: TokenBuckets

  /** @param issuer the origin of the service */
  constructor(db: Database, clock: Clock, issuer: string) {
    this.#db = db
    this.#clock = clock
    this.#issuer = issuer
    this.#issuerKeys = new IssuerKeys(clock)
    // Of a network; checking a signature takes time.
    this.#requests = new TokenBuckets(clock, { burst: 200, perSecond: 20 })
    // With one trust: each exchange writes to the database.
    this.#exchanges = new TokenBuckets(clock, { burst: 60, perSecond: 1 })
    // That the audit log shows, of a network and of all: strangers must not fill it.
    this.#refusals = new TokenBuckets(clock, { burst: 10, perSecond: 1 / 60 })
    this.#allRefusals = new TokenBuckets(clock, { burst: 60, perSecond: 1 / 60 })
  }

  /**
   * @returns the response of RFC 6749 section 5.1 and RFC 8693 section 2.2.1
   * @throws OAuthError; as the database
   */
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
    const asked = scopeNames(form.get('scope') ?? '')
    if (unknownScopes(form.get('scope') ?? '').length > 0)
      throw new OAuthError(400, 'invalid_scope', 'unknown scope')

    const { trust, subject } = await this.#verify(token, isExchange, request)
    if (!this.#exchanges.take(trust.id)) throw tooMany(`with the trust ${trust.name}`)
    const permissions = asked.length === 0 ? trust.permissions : narrow(trust, asked)
    const issued = await issueToken(this.#db, trust, permissions, subject, {
      actor: trust.user_id,
      keyId: `trust:${trust.name}`,
      requestId: request.requestId,
      clock: this.#clock,
    })
    if (!issued) throw refusal(isExchange)
    return {
      access_token: issued.token,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      ...(isExchange && { issued_token_type: types.accessToken }),
      ...(asked.length > 0 && { scope: asked.join(' ') }),
    }
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
    const by: AuditContext = { actor: 'anonymous', keyId: null, requestId, clock: this.#clock }
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
  if (type !== types.idToken && type !== types.jwt) {
    throw invalidRequest(`subject_token_type must be ${types.idToken} or ${types.jwt}`)
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

/** The same for every reason, which only the audit log has. RFC 8693 section 2.2.2, RFC 7523 section 3.2. */
const refusal = (isExchange: boolean) =>
  isExchange
    ? invalidRequest('the identity token was rejected')
    : new OAuthError(401, 'invalid_client', 'the identity token was rejected')

const tooMany = (where: string) =>
  new OAuthError(429, 'temporarily_unavailable', `too many exchanges ${where}`, { retryAfter: 1 })

/** The permissions that both a trust and the scopes have. @throws OAuthError */
function narrow({ permissions }: TrustRecord, asked: readonly string[]): string[] {
  const ofScopes = asked.flatMap((name) => scopes[name]?.permissions ?? [])
  const both = listPermissions().filter(
    (known) => !known.includes('*') && covers(permissions, known) && covers(ofScopes, known),
  )
  if (both.length === 0) {
    throw new OAuthError(400, 'invalid_scope', 'the trust has no permission of the scope')
  }
  return both
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
