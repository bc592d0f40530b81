import { ResponseBodyError, WWWAuthenticateChallengeError } from 'oauth4webapi'
import { Failure, type FailureKind } from '../contract/failure.ts'

/** What an endpoint responds with, and its name. */
type Endpoint = 'token' | 'device authorization'

/** A response that cannot be used, for the end of a sentence: `responded 429`. */
export class UnusableResponse extends Error {
  readonly kind: FailureKind
  readonly status: number | undefined
  constructor(message: string, kind: FailureKind = 'invalid_response', status?: number) {
    super(message)
    this.kind = kind
    this.status = status
  }
}

/** Runs a request to an endpoint. @throws Failure as `tokenFailure` */
export async function asFailure<T>(
  what: string,
  address: string,
  redact: <V>(value: V) => V,
  run: () => Promise<T>,
  endpoint: Endpoint = 'token',
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw tokenFailure(error, what, address, redact, endpoint)
  }
}

/**
 * Converts an error of a request to a token, device authorization, or revocation endpoint. The causes of oauth4webapi
 * are dropped, because they contain response bodies, and possibly tokens.
 * @param what was tried, for a sentence: `The sign-in`
 */
function tokenFailure(
  error: unknown,
  what: string,
  address: string,
  redact: <V>(value: V) => V,
  endpoint: Endpoint,
): unknown {
  const { origin, pathname } = new URL(address)
  const unusable = (words: string) =>
    new Failure('invalid_response', `${what} failed: ${origin} ${words}`, {
      hint: `Check that ${origin}${pathname} is the ${endpoint} endpoint of the service.`,
    })
  if (error instanceof ResponseBodyError) {
    const { error: code, error_description: description, status } = error
    // RFC 6749 section 5.2: what the server has to say to a developer.
    const isText = typeof description === 'string' && description !== ''
    const words = redact(isText ? `${code}: ${description}` : code)
    return new Failure('unauthorized', `${what} failed: ${origin} responded ${status}, ${words}`, {
      code: redact(code),
      status,
    })
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    return new Failure('unauthorized', `${what} failed: ${origin} does not know this client`, {
      status: error.status,
      hint: 'Check the client ID. It must belong to a public client, which has no secret.',
    })
  }
  if (error instanceof UnusableResponse) {
    if (error.kind === 'invalid_response') return unusable(redact(error.message))
    return new Failure(error.kind, `${what} failed: ${origin} ${error.message}`, { status: error.status })
  }
  // `bearer` refuses a token that no header can contain. Others are failures of the client.
  if (error instanceof Failure)
    return error.kind === 'refused' ? unusable('sent a token with invalid characters') : error
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (typeof code !== 'string' || !code.startsWith('OAUTH_')) return error
  if (cause instanceof Response && refusals.has(cause.status)) {
    return new Failure('unauthorized', `${what} failed: ${origin} responded ${cause.status}`, {
      status: cause.status,
    })
  }
  if (cause instanceof Response && cause.status !== 200)
    return unusable(`sent the unexpected status ${cause.status}`)
  const isJson = code !== 'OAUTH_RESPONSE_IS_NOT_JSON' && code !== 'OAUTH_PARSE_ERROR'
  return unusable(`sent a response that is not ${isJson ? `a ${endpoint}` : 'JSON'}`)
}

/** RFC 6749 section 5.2. Many servers send no reason with them, or a web page. */
const refusals: ReadonlySet<number> = new Set([400, 401])
