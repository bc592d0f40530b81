import type { RequestOutcome } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import type { RequestHandler } from '../system/network/transport.ts'
import type { ClientEvent } from './client-event.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { Trace } from './trace.ts'

/**
 * Returns the credential for one request; undefined sends the request without one.
 * @param rejected the credential that the service has just rejected with status 401. If the function
 *   returns another one, the request is sent once more: a request with status 401 has changed nothing.
 */
export type CredentialSource = (rejected?: string) => Promise<string | undefined>

/** What `gate` returns. */
// biome-ignore lint/suspicious/noConfusingVoidType: most gates return nothing
type Gated = ((outcome: RequestOutcome) => void) | undefined | void

/** Options of a client. All times are in milliseconds; `Infinity` means no limit. */
export interface ClientOptions {
  /** The address of the service (docs/interface.md, "Endpoints"): `https://chat.example`, or `http://` on loopback. */
  baseUrl: string
  /** API key or access token, sent as `Authorization: Bearer` (docs/interface.md, "Authentication"). */
  credential?: string | CredentialSource | undefined
  /** The `User-Agent` header (default: `chatctl`). */
  userAgent?: string | undefined
  /**
   * Maximum time of one attempt; of a stream, until its first byte (default: 10 minutes for a reply of
   * a model, else 60 seconds).
   */
  timeout?: number | undefined
  /** Maximum time between two parts of a stream, comments not included (default: as `timeout`). */
  idleTimeout?: number | undefined
  /** Maximum time to connect, TLS handshake included (default: 10 seconds, at most `timeout`). */
  connectTimeout?: number | undefined
  /**
   * Maximum number of retries after a failure (default: 2). A POST or PATCH that may have reached the
   * service is never sent again.
   */
  retries?: number | undefined
  /** Maximum time that one request waits for rate limits, in all (default: 60 seconds). */
  maxWait?: number | undefined
  /** Whether to follow redirects within the origin (default: true). Others are never followed. */
  followRedirects?: boolean | undefined
  /** Maximum size of a response body, in MiB (default: 256); `chat.stream` has none. */
  maxBodyMiB?: number | undefined
  /** Aborts every request and every wait of the client. */
  signal?: AbortSignal | undefined
  /**
   * Called with each request before it is sent. If it throws, the request is not sent, and the call
   * rejects with what it threw. It may return a function, which is called once with the outcome of the request;
   * of a stream, when it begins.
   */
  gate?: ((request: OutgoingRequest) => Gated | Promise<Gated>) | undefined
  /** Called with what the client does, as it does it: for logs and progress. */
  observe?: ((event: ClientEvent) => void) | undefined
  /** Names a proxy: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` (default: none). */
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** @internal */
  internal?: InternalOptions
}

/** Options that only chatctl uses. @internal */
export interface InternalOptions {
  /** Called before each request, which goes to its handler in this process, and not to the network. */
  openHandler?: (() => Promise<RequestHandler>) | undefined
  /** Called before each request. Its trace receives everything that crosses the network, without secrets. */
  openTrace?: (() => Promise<Trace>) | undefined
  /** Time and randomness (default: the system's). */
  clock?: Clock
}
