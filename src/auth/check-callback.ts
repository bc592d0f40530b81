import { createHash, timingSafeEqual } from 'node:crypto'

/** What an authorization response of this sign-in must contain. */
export interface CallbackExpectation {
  /** The Host header: `127.0.0.1:53123` or `[::1]:53123`. */
  host: string
  path: string
  /** Not empty: an empty state matches nothing. */
  state: string
  /** The known issuer, for `iss` (RFC 9207). */
  issuer: string | undefined
  /** The metadata says `authorization_response_iss_parameter_supported`. */
  requiresIssuer: boolean
  /** `name=value`, if only the browser with this cookie may send the response. */
  cookie?: string | undefined
}

export interface CallbackRequest {
  method: string
  host: string | undefined
  /** Path and query as sent. */
  target: string
  /** The Cookie header. */
  cookies?: string | undefined
}

/** Not a response of this sign-in: the wait continues. `reason` contains nothing of the request. */
export interface Ignored {
  kind: 'ignored'
  status: 400 | 404 | 405
  reason: string
}

/** The result of a callback. Every kind but `ignored` ends the flow. */
export type CallbackResult =
  | Ignored
  /** The server has granted access: there is exactly one `code`, which is not empty. */
  | { kind: 'granted'; parameters: URLSearchParams }
  /** The server has denied access (RFC 6749 section 4.1.2.1). Both texts are safe to show in a terminal. */
  | { kind: 'denied'; error: string; description: string | undefined }
  /** The state is correct, but the issuer is wrong or missing: a mix-up attack (RFC 9207 section 2.4). */
  | { kind: 'foreign' }

const maxErrorLength = 100
const maxDescriptionLength = 500

/**
 * Checks a request to the listener (RFC 6749 section 4.1.2, RFC 9207 section 2.4). The order of the checks
 * matters: a request without the state learns nothing about the later checks.
 */
export function checkCallback(request: CallbackRequest, expectation: CallbackExpectation): CallbackResult {
  // The Host reveals DNS rebinding: a page of another host name that resolves to loopback.
  if (request.host !== expectation.host) return ignored(400, 'a request for another host was ignored')
  if (request.method !== 'GET') return ignored(405, 'a request that is not a GET was ignored')
  const { path, parameters } = splitTarget(request.target)
  if (path !== expectation.path) return ignored(404, 'a request for another path was ignored')
  if (!hasState(request.target, expectation.state))
    return ignored(400, 'a response with the state of another sign-in was ignored')
  if (expectation.cookie !== undefined && !hasCookie(request.cookies, expectation.cookie)) {
    return ignored(400, 'a response from another browser was ignored')
  }
  // RFC 6749 section 3.1.
  if (['iss', 'error', 'code'].some((name) => parameters.getAll(name).length > 1)) {
    return ignored(400, 'a response with a repeated parameter was ignored')
  }
  return checkIssuer(parameters, expectation) ?? readOutcome(parameters)
}

/**
 * Checks a redirect URL that the user copied from the browser, by the same rules except the cookie, because the
 * user vouches for the browser.
 */
export function checkPastedUrl(
  text: string,
  { cookie: _, ...expectation }: CallbackExpectation,
): CallbackResult {
  const trimmed = text.trim()
  if (!URL.canParse(trimmed)) return ignored(400, 'the pasted text is not a complete URL')
  const url = new URL(trimmed)
  if (url.protocol !== 'http:') return ignored(400, 'a request for another host was ignored')
  return checkCallback({ method: 'GET', host: url.host, target: url.pathname + url.search }, expectation)
}

/** Whether a request has the state of this sign-in. */
export function hasState(target: string, state: string): boolean {
  const [first, ...more] = splitTarget(target).parameters.getAll('state')
  return first !== undefined && more.length === 0 && state !== '' && isSame(first, state)
}

function splitTarget(target: string): { path: string; parameters: URLSearchParams } {
  // Browsers do not send a fragment, but a pasted address may have one.
  const [bare = ''] = target.split('#', 1)
  const [path = '', ...query] = bare.split('?')
  return { path, parameters: new URLSearchParams(query.join('?')) }
}

/** Whether a Cookie header contains this pair. Another server on this address may have set the same name. */
export function hasCookie(cookies: string | undefined, pair: string): boolean {
  return cookies?.split(';').some((one) => isSame(one.trim(), pair)) ?? false
}

/** Compares texts in constant time. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function checkIssuer(
  parameters: URLSearchParams,
  expectation: CallbackExpectation,
): CallbackResult | undefined {
  const named = parameters.get('iss')
  const { issuer, requiresIssuer } = expectation
  if (named === null || issuer === undefined) {
    return requiresIssuer && !named ? { kind: 'foreign' } : undefined
  }
  // Simple string comparison (RFC 9207 section 2.4), except for a trailing slash, which many servers omit.
  const isExpected = [issuer, `${issuer}/`].includes(named) || `${named}/` === issuer
  return isExpected ? undefined : { kind: 'foreign' }
}

function readOutcome(parameters: URLSearchParams): CallbackResult {
  const error = parameters.get('error')
  if (error) {
    const description = printableLine(parameters.get('error_description') ?? '', maxDescriptionLength)
    const shown = printableLine(error, maxErrorLength)
    return { kind: 'denied', error: shown, description: description || undefined }
  }
  if (!parameters.get('code')) return ignored(400, 'a response without a code was ignored')
  return { kind: 'granted', parameters }
}

/** One line without control and bidirectional characters, truncated. */
function printableLine(text: string, maxLength: number): string {
  const line = text.replace(/\s+/g, ' ').replace(/[\p{Cc}\p{Bidi_Control}]/gu, '')
  return line.trim().slice(0, maxLength).toWellFormed().trim()
}

function ignored(status: Ignored['status'], reason: string): Ignored {
  return { kind: 'ignored', status, reason }
}
