import { Failure, unknownOutcome } from '../contract/failure.ts'
import { mayHaveDone } from './error-response.ts'
import { doubtHint } from './network-failure.ts'
import type { Envelope } from './open-response.ts'
import { showUrl } from './redaction.ts'

/** Redirects of one request that are followed. */
const maxRedirects = 5

interface Answered {
  status: number
  headers: Record<string, string>
}

/**
 * The request that a redirect asks for (RFC 9110 section 15.4), or undefined where the response is
 * none that we follow: 301, 302 and 303 for GET and HEAD, 307 and 308 for every method.
 *
 * @param visited URLs of this request so far, oldest first
 * @throws Failure `rejected` for another origin, which must not learn the credential, for a loop or too
 *   many; `unknown_outcome` where the service may have made a change before it redirected
 */
export function followRedirect(
  envelope: Envelope,
  answered: Answered,
  visited: string[],
): Envelope | undefined {
  const { status, headers } = answered
  const location = headers['location']
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined
  const safe = envelope.method === 'GET' || envelope.method === 'HEAD'
  const request = { method: envelope.method, url: showUrl(envelope.url) }
  const doubt = doubtHint(request, mayHaveDone(status))
  const rejected = (message: string, hint?: string) => {
    const failure = new Failure('rejected', message, { status, request, ...(hint && { hint }) })
    return doubt === undefined ? failure : unknownOutcome(failure, [doubt, hint].filter(Boolean).join(' '))
  }
  if (!URL.canParse(location, envelope.url.href)) {
    throw rejected(`${envelope.url.origin} redirects to an invalid URL (${status})`)
  }
  const target = new URL(location, envelope.url)
  if (target.origin !== envelope.url.origin) {
    throw rejected(
      `${envelope.url.origin} redirects to ${originOf(target)} (${status}). chatctl does not follow it, because the credential must not reach another origin`,
      'If the service has moved, change the base URL.',
    )
  }
  if (status <= 303 && !safe) return undefined

  target.username = ''
  target.password = ''
  target.hash = ''
  if (visited.includes(target.href)) throw rejected(`${envelope.url.origin} redirects in a loop (${status})`)
  if (visited.length > maxRedirects) {
    throw rejected(`${envelope.url.origin} redirects more than ${maxRedirects} times (${status})`)
  }
  return { ...envelope, url: target }
}

/** `data:` and its like have the origin "null". */
function originOf(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}
