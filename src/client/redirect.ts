import { Failure } from '../failure.ts'
import { mayHaveDone } from './error-answer.ts'
import type { Envelope } from './exchange.ts'
import { mayChange } from './network-failure.ts'
import { showUrl } from './redaction.ts'

/** Redirects of one request that are followed. */
const mostRedirects = 5

interface Answered {
  status: number
  headers: Record<string, string>
}

/**
 * The request that a redirect asks for (RFC 9110 section 15.4), or undefined where the answer is
 * none that we follow: 301, 302 and 303 for GET and HEAD, 307 and 308 for every method.
 *
 * @param visited URLs of this request so far, oldest first
 * @throws Failure `refused` for another origin, which must not learn the credential; `rejected`
 *   for a loop or too many
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
  const about = { status, request, inDoubt: mayChange(request) && mayHaveDone(status) }
  if (!URL.canParse(location, envelope.url.href)) {
    throw new Failure('rejected', `the service answered ${status} with a Location that is not a URL`, about)
  }
  const target = new URL(location, envelope.url)
  if (target.origin !== envelope.url.origin) {
    throw new Failure(
      'refused',
      `${envelope.url.origin} redirects to ${originOf(target)}; the credential is not sent there`,
      { ...about, hint: 'If the service has moved, change the base URL.' },
    )
  }
  if (status <= 303 && !safe) return undefined

  target.username = ''
  target.password = ''
  target.hash = ''
  if (visited.includes(target.href)) {
    throw new Failure('rejected', 'the service redirects in a circle', { status, request })
  }
  if (visited.length > mostRedirects) {
    throw new Failure('rejected', `the service redirected more than ${mostRedirects} times`, {
      status,
      request,
    })
  }
  return { ...envelope, url: target }
}

/** `data:` and its like have the origin "null". */
function originOf(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}
