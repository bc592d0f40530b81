import { Failure } from '../../contract/failure.ts'
import type { HttpRequest, OpenResponse } from '../../system/network/transport.ts'
import { showUrl } from '../redaction.ts'

/** Maximum number of redirects of one request. */
const maxRedirects = 5

/**
 * The request that a redirect requires (RFC 9110 section 15.4). Undefined for any other response. Follows
 * 301, 302, and 303 for GET and HEAD, and 307 and 308 for every method.
 * @param earlier number of redirects of this request so far
 * @throws Failure `rejected` for another origin, which must not receive the credential, and for too many
 *   redirects
 */
export function followRedirect(
  httpRequest: HttpRequest,
  response: Pick<OpenResponse, 'status' | 'headers'>,
  earlier: number,
): HttpRequest | undefined {
  const { status, headers } = response
  const location = headers['location']
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  if (location === undefined || !URL.canParse(location, httpRequest.url.href)) return undefined
  const safe = httpRequest.method === 'GET' || httpRequest.method === 'HEAD'
  const request = { method: httpRequest.method, url: showUrl(httpRequest.url) }
  const rejected = (message: string, hint?: string) =>
    new Failure('rejected', message, { status, request, hint })
  const target = new URL(location, httpRequest.url)
  if (target.origin !== httpRequest.url.origin) {
    throw rejected(
      `${httpRequest.url.origin} redirects to ${target.origin} (${status}). chatctl does not follow it, because the credential must not reach another origin`,
      'If the service has moved, change the base URL.',
    )
  }
  if (status <= 303 && !safe) return undefined

  target.hash = ''
  if (earlier >= maxRedirects) {
    throw rejected(`${httpRequest.url.origin} redirects more than ${maxRedirects} times (${status})`)
  }
  return { ...httpRequest, url: target }
}
