import { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'

/** What requests to an authorization server have in common with all others. */
export type TransportOptions = Pick<
  ClientOptions,
  'userAgent' | 'timeout' | 'retries' | 'maxWait' | 'signal' | 'observe' | 'env'
> & { clock: Clock }

/** What oauth4webapi asks of `fetch`. */
interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: URLSearchParams | string | null | undefined
}

export type Transport = (url: string, init: FetchInit) => Promise<Response>

/** Metadata and tokens take a few kilobytes. Without a bound, a server could fill our memory. */
const maxBodyMiB = 1

/**
 * The client as a `fetch`: one rule for proxies, time-outs, retries and plain HTTP wherever we send
 * something. Redirects are answers: neither a code nor a token goes where nobody configured it.
 */
export function createTransport(options: TransportOptions): Transport {
  return async (url, { method, headers: given, body }) => {
    // The library names itself; who asks is chatctl.
    const { 'user-agent': _, ...headers } = given
    const { origin, pathname, search } = new URL(url)
    const client = new Client({ ...options, baseUrl: origin, followRedirects: false, maxBodyMiB })
    try {
      const sent = body ? { body: String(body) } : {}
      const answer = await client.send({ method, path: pathname + search, headers, ...sent })
      const { status, bytes } = answer
      if (status < 200 || status > 599) {
        throw new Failure('invalid_response', `${origin} responded with the invalid status ${status}`, {
          status,
        })
      }
      // Fetch standard: a "null body status" takes no body, not even an empty one.
      const content = [204, 205, 304].includes(status) ? null : new TextDecoder().decode(bytes)
      return new Response(content, { status, headers: answer.headers })
    } finally {
      await client.close()
    }
  }
}
