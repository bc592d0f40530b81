import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import { Client } from '../client/client.ts'
import type { ClientOptions, InternalOptions } from '../client/client-options.ts'
import { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'

/** Client options that also apply to requests to an authorization server. */
export type TransportOptions = Pick<
  ClientOptions,
  'userAgent' | 'timeout' | 'retries' | 'maxWait' | 'signal' | 'observe' | 'env' | 'credential'
> &
  Pick<InternalOptions, 'openTrace'> & { clock: Clock }

/** As oauth4webapi calls `fetch`. */
export type Transport = (
  url: string,
  init: {
    method: string
    headers: Record<string, string>
    body?: URLSearchParams | string | null | undefined
  },
) => Promise<Response>

/** Metadata and tokens have a few kilobytes. Without a limit, a server could fill the memory. */
const maxBodyMiB = 1

/**
 * Adapts the client to `fetch`, so that the same rules apply for proxies, timeouts, retries, and plain HTTP.
 * Redirects are not followed, so that no code or token is sent to an address that is not configured.
 */
export function createTransport({ clock, openTrace, ...options }: TransportOptions): Transport {
  const internal = { clock, openTrace }
  return async (url, { method, headers: given, body }) => {
    // Replaces the user agent of the library.
    const { 'user-agent': _, ...headers } = given
    const { origin, pathname, search } = new URL(url)
    const client = new Client({ ...options, internal, baseUrl: origin, followRedirects: false, maxBodyMiB })
    try {
      const sent = body ? String(body) : undefined
      const received = await client.send({ method, path: pathname + search, headers, body: sent })
      const { status, bytes } = received
      // Fetch standard: a "null body status" takes no body, not even an empty one.
      const content = [204, 205, 304].includes(status) ? null : new TextDecoder().decode(bytes)
      return new Response(content, { status, headers: received.headers })
    } catch (error) {
      if (!(error instanceof Failure) || !error.isOutcomeUnknown) throw error
      // The change that needs the credential was not sent, so its outcome is known.
      throw new Failure(error.kind, error.message, { ...error, isOutcomeUnknown: false, cause: error })
    } finally {
      await client.close()
    }
  }
}

/** The addresses were checked when they were configured: plain HTTP only to this machine. */
export function through(transport: Transport) {
  return { [customFetch]: transport, [allowInsecureRequests]: true }
}
