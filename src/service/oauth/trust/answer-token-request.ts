import { IncomingMessage, type ServerResponse } from 'node:http'
import { statusOf } from '../../api-error.ts'
import { revokeToken } from '../../domain/access/trusts.ts'
import type { Store } from '../../store/tables.ts'
import { toApiError } from '../../to-api-error.ts'
import { type BrowserRequest, readLimited } from '../browser/browser-request.ts'
import { identityGrants, paths } from '../metadata.ts'
import { OAuthError, sendJson, type TokenExchange } from './exchange-token.ts'

/** In bytes, as oidc-provider. */
const maxBody = 56 * 1024

interface AnswerParts {
  store: Store
  exchange: TokenExchange
  checkSchema: () => Promise<void>
  removeExpired: () => void
  onError: (error: unknown) => void
}

/**
 * Responds to a request of the token or revocation endpoint that concerns a trust or an exchanged token.
 * @returns undefined after a response; otherwise the request for oidc-provider, with the body that was read
 */
export async function answerTokenRequest(
  { request, response, url, address }: BrowserRequest,
  { store, exchange, checkSchema, removeExpired, onError }: AnswerParts,
): Promise<IncomingMessage | undefined> {
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(request.headers['content-type'] ?? ''))
    return request
  try {
    const body = await readBody(request)
    const form = readForm(body)
    await checkSchema()
    if (url.pathname === paths.revoke && form.get('token')?.startsWith('ct_')) {
      await revokeToken(store, form.get('token') ?? '')
      response.writeHead(200, { 'content-length': '0' }).end()
      return undefined
    }
    if (url.pathname !== paths.token || !identityGrants.includes(form.get('grant_type') ?? '')) {
      return withBody(request, body)
    }
    const requestId = String(response.getHeader('x-request-id') ?? '') || null
    sendJson(response, 200, await exchange.exchange({ form, address, requestId }))
    removeExpired()
  } catch (error) {
    sendError(response, error, onError)
  }
  return undefined
}

function sendError(response: ServerResponse, error: unknown, onError: (error: unknown) => void): void {
  const { status, code, message, retryAfter, cause } = error instanceof OAuthError ? error : unexpected(error)
  if (status >= 500) onError(cause)
  sendJson(
    response,
    status,
    { error: code, error_description: message },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  )
}

function unexpected(error: unknown): OAuthError {
  const apiError = toApiError(error)
  const status = statusOf(apiError)
  const code = status === 500 ? 'server_error' : 'temporarily_unavailable'
  return new OAuthError(status, code, apiError.message, { retryAfter: apiError.retryAfter, cause: error })
}

/** Destroying the request would close the connection before the response. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const refusal = new OAuthError(400, 'invalid_request', 'failed to parse the request body')
  return readLimited(request, maxBody, refusal).catch(() => {
    throw refusal
  })
}

/** Parameters without a value count as omitted (RFC 6749 section 3.2). */
function readForm(body: Buffer): URLSearchParams {
  const given = new URLSearchParams(body.toString('utf8'))
  return new URLSearchParams([...given].filter(([, value]) => value !== ''))
}

/** A copy of a request whose body has been read. */
function withBody(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { method, url, headers, httpVersion } = request
  // At its end, an incomplete message would destroy the connection.
  const known = { method, url, headers, httpVersion, complete: true }
  const copy = Object.assign(new IncomingMessage(request.socket), known)
  copy.push(body)
  copy.push(null)
  return copy
}
