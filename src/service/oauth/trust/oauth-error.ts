import type { ServerResponse } from 'node:http'

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
