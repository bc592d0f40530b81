import { createHash, timingSafeEqual } from 'node:crypto'

/** What the answer to an authorization request must look like to be ours. */
export interface CallbackExpectation {
  /** The Host header: `127.0.0.1:53123` or `[::1]:53123`. */
  host: string
  path: string
  /** Never empty: an empty one matches nothing. */
  state: string
  /** The known issuer, for `iss` (RFC 9207). */
  issuer: string | undefined
  /** The metadata says `authorization_response_iss_parameter_supported`. */
  requiresIssuer: boolean
  /** `name=value`, where only the browser that has this cookie may come back. */
  cookie?: string | undefined
}

/** A request as the listener saw it. */
export interface CallbackRequest {
  method: string
  host: string | undefined
  /** Path and query as sent. */
  target: string
  /** The Cookie header. */
  cookies?: string | undefined
}

/** A request that is no answer to this sign-in: the wait goes on. `reason` holds nothing of it. */
export interface Ignored {
  kind: 'ignored'
  status: 400 | 404 | 405
  reason: string
}

/** The server agreed: exactly one `code`, which is not empty. */
interface Granted {
  kind: 'granted'
  parameters: URLSearchParams
}

/** The server refused (RFC 6749 section 4.1.2.1). Both texts can be shown on a terminal. */
interface Denied {
  kind: 'denied'
  error: string
  description: string | undefined
}

/** Our state from a foreign issuer, or from none where one is required: a mix-up (RFC 9207 section 2.4). */
interface Foreign {
  kind: 'foreign'
}

/** What a callback comes to. Every kind but `ignored` ends the flow. */
export type CallbackVerdict = Ignored | Granted | Denied | Foreign

/** Longest query looked into: a code of `longestCode` with a state, an issuer and some room. */
const longestQuery = 16_384
const longestCode = 8192
const longestError = 100
const longestDescription = 500

/**
 * Judges a request to the listener (RFC 6749 section 4.1.2, RFC 9207 section 2.4). The order of the
 * checks counts: what is not for us learns nothing about what would be.
 */
export function judgeCallback(request: CallbackRequest, expectation: CallbackExpectation): CallbackVerdict {
  // A page under a foreign name that resolves to loopback (DNS rebinding) is told by its Host.
  if (request.host !== expectation.host) return ignored(400, 'a request for another host was ignored')
  if (request.method !== 'GET') return ignored(405, 'a request that is not a GET was ignored')
  const { path, query } = splitTarget(request.target)
  if (path !== expectation.path) return ignored(404, 'a request for another path was ignored')
  if (query.length > longestQuery) return ignored(400, 'a URL that is too long was ignored')
  const parameters = new URLSearchParams(query)
  if (!isOurs(parameters, expectation.state))
    return ignored(400, 'a response with the state of another sign-in was ignored')
  if (expectation.cookie !== undefined && !carriesCookie(request.cookies, expectation.cookie)) {
    return ignored(400, 'a response from another browser was ignored')
  }
  return judgeIssuer(parameters, expectation) ?? judgeAnswer(parameters)
}

/**
 * Judges a redirect URL that a person copied from the browser's address bar, by the same rules but
 * without the cookie: here the person vouches for the browser.
 */
export function judgePastedUrl(
  text: string,
  { cookie: _, ...expectation }: CallbackExpectation,
): CallbackVerdict {
  const trimmed = text.trim()
  if (trimmed.length > 2 * longestQuery) return ignored(400, 'a URL that is too long was ignored')
  if (!URL.canParse(trimmed)) return ignored(400, 'the pasted text is not a complete URL')
  const url = new URL(trimmed)
  if (url.protocol !== 'http:') return ignored(400, 'a request for another host was ignored')
  return judgeCallback({ method: 'GET', host: url.host, target: url.pathname + url.search }, expectation)
}

/** Whether a request has our state, whatever else is wrong with it. */
export function carriesState(target: string, state: string): boolean {
  const { query } = splitTarget(target)
  return query.length <= longestQuery && isOurs(new URLSearchParams(query), state)
}

/** Browsers send no fragment; where something else does, it is not part of the query. */
function splitTarget(target: string): { path: string; query: string } {
  const [bare = ''] = target.split('#', 1)
  const mark = bare.indexOf('?')
  return mark < 0 ? { path: bare, query: '' } : { path: bare.slice(0, mark), query: bare.slice(mark + 1) }
}

function isOurs(parameters: URLSearchParams, state: string): boolean {
  const [first, ...more] = parameters.getAll('state')
  if (first === undefined || more.length > 0 || state === '') return false
  return isSame(first, state)
}

/** Whether a Cookie header has this pair; another server of this address may have set one of the same name. */
export function carriesCookie(cookies: string | undefined, pair: string): boolean {
  return cookies?.split(';').some((one) => isSame(one.trim(), pair)) ?? false
}

/** Compares texts of one length, in a time that does not tell how much of the first was right. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function judgeIssuer(
  parameters: URLSearchParams,
  expectation: CallbackExpectation,
): CallbackVerdict | undefined {
  const [named, ...more] = parameters.getAll('iss')
  if (more.length > 0) return ignored(400, 'a response with more than one issuer was ignored')
  const { issuer, requiresIssuer } = expectation
  if (named === undefined || issuer === undefined) {
    return requiresIssuer && !named ? { kind: 'foreign' } : undefined
  }
  return isSameIssuer(named, issuer) ? undefined : { kind: 'foreign' }
}

/** Simple string comparison (RFC 9207 section 2.4), but for the slash that many an issuer forgets. */
function isSameIssuer(one: string, other: string): boolean {
  return one === other || one === `${other}/` || `${one}/` === other
}

function judgeAnswer(parameters: URLSearchParams): CallbackVerdict {
  const [error, ...moreErrors] = parameters.getAll('error')
  if (error !== undefined) {
    const shown = showable(error, longestError)
    if (moreErrors.length > 0) return ignored(400, 'a response with more than one error was ignored')
    if (shown === '') return ignored(400, 'a response with an empty error was ignored')
    const description = showable(parameters.get('error_description') ?? '', longestDescription)
    return { kind: 'denied', error: shown, description: description || undefined }
  }
  const [code, ...moreCodes] = parameters.getAll('code')
  if (!code) return ignored(400, 'a response without a code was ignored')
  if (moreCodes.length > 0) return ignored(400, 'a response with more than one code was ignored')
  if (code.length > longestCode) return ignored(400, 'a response with a code that is too long was ignored')
  if (/\p{Cc}/u.test(code)) return ignored(400, 'a response with control characters in its code was ignored')
  return { kind: 'granted', parameters }
}

/** On one line, without controls and without the marks that reorder what is read, and not too long. */
function showable(text: string, longest: number): string {
  const line = text.replace(/\s+/g, ' ').replace(/[\p{Cc}\p{Bidi_Control}]/gu, '')
  // A pair of surrogates that the cut would part is left out whole.
  return line
    .trim()
    .slice(0, longest)
    .replace(/\p{Cs}$/u, '')
    .trim()
}

function ignored(status: Ignored['status'], reason: string): Ignored {
  return { kind: 'ignored', status, reason }
}
