import { randomBytes } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { HtmlPage } from '../../pages/page.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { statusOf } from '../api-error.ts'
import type { Database, Store } from '../store/tables.ts'
import { toApiError } from '../to-api-error.ts'
import { currentRequest } from './adapter.ts'
import { showAccount, submitAccount } from './browser/account.ts'
import {
  type BrowserRequest,
  type OAuthServer,
  PageError,
  type PageRequest,
  redirect,
  sendPage,
} from './browser/browser-request.ts'
import { beginSignIn, showSignIn, submitSignIn } from './browser/sign-in.ts'
import { createProvider } from './create-provider.ts'
import { createDeviceGate, showDevice, submitDevice } from './device.ts'
import { metadataOf, paths } from './metadata.ts'
import { errorPage } from './pages/oauth-page.ts'
import { createExpiredRemover } from './records.ts'
import { defaultScope, scopeNames } from './scopes.ts'
import { SecondFactorCipher } from './second-factor-cipher.ts'
import { TokenBuckets } from './token-buckets.ts'
import { answerTokenRequest } from './trust/answer-token-request.ts'
import { type Authenticate, TokenExchange } from './trust/exchange-token.ts'
import { IssuerKeys } from './trust/issuer-keys.ts'

interface OAuthParts {
  store: Store
  /** Contains the encryption key of the second factors. */
  dataDir: string
  /** The origin that clients use. */
  issuer: string
  /** Called before the data is used. @throws ApiError `storage_migrated` */
  checkSchema: () => Promise<void>
  authenticate: Authenticate
  /** Called with each error that ends a request, also with an `ApiError`. */
  onError: (error: unknown) => void
  clock: Clock
  /** Whether a program on another device may have the scope `admin`. Default: no. */
  allowsDeviceAdmin?: boolean | undefined
  env?: NodeJS.ProcessEnv | undefined
}

/** Handles one request. Rejects with an error to which the service must respond. */
export type OAuth = (request: IncomingMessage, response: ServerResponse, address: string) => Promise<void>

/** The OAuth server (RFC 6749) with its pages. */
export async function openOAuth(parts: OAuthParts): Promise<OAuth> {
  const { store, dataDir, issuer, checkSchema, authenticate, onError, clock } = parts
  const { allowsDeviceAdmin = false, env } = parts
  const { db } = store
  const removeExpired = createExpiredRemover(db, clock)
  const provider = createProvider({
    db,
    issuer,
    removeExpired,
    clock,
    admitDeviceRequest: createDeviceGate(clock, allowsDeviceAdmin),
    cookieKey: await sharedSecret(db, 'oauth_cookie_key', clock),
    renderError,
  })
  provider.on('server_error', (ctx, error) => {
    onError(error)
    reportUnavailable(ctx, error)
  })
  // Without this listener, Koa would write the error to stderr.
  ;(provider as EventEmitter).on('error', onError)
  const formKey = await sharedSecret(db, 'form_key', clock)
  const cipher = new SecondFactorCipher(dataDir)
  const startLimit = new TokenBuckets(clock, { burst: 200, perSecond: 20 })
  const shared = { db, issuer, checkSchema, removeExpired, clock, allowsDeviceAdmin }
  const server: OAuthServer = { ...shared, cipher, provider, formKey, startLimit }
  const serve = provider.callback()
  const exchange = new TokenExchange(db, clock, issuer, authenticate, new IssuerKeys(clock, env))
  return async (request, response, address) => {
    const agent = (request.headers['user-agent'] ?? '').slice(0, 200)
    const isMisnamed = request.method === 'GET' && isOtherLoopback(request.headers.host, issuer)
    setIssuerHeaders(issuer, request)
    const visit: BrowserRequest = {
      request,
      response,
      url: new URL(request.url ?? '', issuer),
      address,
      agent,
    }
    return currentRequest.run(visit, async () => {
      try {
        if (isMisnamed) return redirect(response, visit.url.href)
        if (!isForProvider(visit)) return await handlePage({ server, visit })
        if (visit.url.pathname === paths.authorize) {
          server.startLimit.demandFor(address)
          prepareRequest(request, visit)
        }
        const left = await answerTokenRequest(visit, { store, exchange, checkSchema, removeExpired, onError })
        if (left) await serve(left, response)
      } catch (error) {
        if (response.headersSent) throw error
        sendPage(response, pageOf(error, onError))
      }
    })
  }
}

const renderError: Parameters<typeof createProvider>[0]['renderError'] = (ctx, out, cause) => {
  const { error, error_description: description } = out
  const { status, headers, body } =
    error === 'server_error'
      ? pageOf(cause, () => {})
      : errorPage(ctx.status, 'Sign-in failed', wordsOf(error, description))
  ctx.set({ ...headers })
  ctx.status = status
  ctx.body = body
}

/** oidc-provider builds URLs from these headers, so they are set to the issuer. */
function setIssuerHeaders(issuer: string, request: IncomingMessage): void {
  const { protocol, host } = new URL(issuer)
  Object.assign(request.headers, {
    host,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
  })
}

/** In characters: the request is stored in a cookie, which may have 4,096 bytes. */
const maxRequestLength = 1024
const maxParameterLength = 512

/**
 * Limits the parameters, which must be printable ASCII (RFC 6749 appendix A). Sets the default scope
 * (section 3.3), and refuses any response mode but `query`.
 */
function prepareRequest(request: IncomingMessage, { url }: BrowserRequest): void {
  let length = 0
  for (const [name, value] of url.searchParams) {
    if (value.length > maxParameterLength) throw outOfBounds(`The ${name} must not exceed 512 characters.`)
    if (!/^[\x20-\x7e]*$/.test(value)) throw outOfBounds(`The ${name} must be printable ASCII.`)
    length += name.length + value.length
  }
  if (length > maxRequestLength) throw outOfBounds('The parameters must not exceed 1,024 characters in all.')
  const mode = url.searchParams.get('response_mode') ?? 'query'
  if (mode !== 'query') throw outOfBounds('The response_mode must be query.')
  if (scopeNames(url.searchParams.get('scope') ?? '').length > 0) return
  url.searchParams.set('scope', defaultScope)
  request.url = url.pathname + url.search
}

const outOfBounds = (sentence: string) => new PageError(400, 'Sign-in failed', sentence)

/** A user may type `localhost`, but cookies of 127.0.0.1 are not sent to it. */
function isOtherLoopback(host: string | undefined, issuer: string): boolean {
  const { hostname, port } = new URL(issuer)
  return hostname === '127.0.0.1' && host === `localhost:${port}`
}

/** oidc-provider responds to any unexpected error with `server_error`, also if the database is unavailable for a moment. */
function reportUnavailable(ctx: KoaContextWithOIDC, error: unknown): void {
  const apiError = toApiError(error)
  if (statusOf(apiError) === 500 || typeof ctx.body !== 'object' || ctx.body === null) return
  ctx.status = statusOf(apiError)
  if (apiError.retryAfter !== undefined) ctx.set('retry-after', String(apiError.retryAfter))
  ctx.body = { error: 'temporarily_unavailable', error_description: apiError.message }
}

function pageOf(error: unknown, onError: (error: unknown) => void): HtmlPage {
  if (error instanceof PageError) return errorPage(error.status, error.title, error.message)
  const apiError = toApiError(error)
  onError(error)
  return errorPage(statusOf(apiError), 'Something went wrong', `${apiError.message}.`, apiError.retryAfter)
}

const isForProvider = ({ url }: BrowserRequest) =>
  /^\/oauth\/(authorize(\/|$)|token$|revoke$|device_authorization$)/.test(url.pathname)

async function handlePage(page: PageRequest): Promise<void> {
  const { server, visit } = page
  const { request, response, url } = visit
  const isForm = request.method === 'POST'
  if (url.pathname === paths.metadata) {
    const body = JSON.stringify(metadataOf(server.issuer))
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache' }).end(body)
    return
  }
  await server.checkSchema()
  if (url.pathname === paths.signIn) return beginSignIn(page, paths.account)
  if (url.pathname === paths.device) return isForm ? submitDevice(page) : showDevice(page)
  if (url.pathname === paths.account) return isForm ? submitAccount(page) : showAccount(page)
  return isForm ? submitSignIn(page) : showSignIn(page)
}

const wordsOf = (error: string, description: string | undefined) =>
  description === undefined
    ? `The request was rejected: ${error}.`
    : `The request was rejected: ${description} (${error}).`

/** A secret that all processes of one database share: 256 random bits. The first process creates it. */
async function sharedSecret(db: Database, name: string, clock: Clock): Promise<string> {
  await db
    .insertInto('service_secrets')
    .values({ name, value: randomBytes(32).toString('base64url'), created_at: isoNow(clock) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { value } = await db
    .selectFrom('service_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return value
}
