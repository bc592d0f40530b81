import type * as z from 'zod/mini'
import {
  type Endpoint,
  type EndpointName,
  endpoints,
  type QueryOf,
  type RequestOf,
  type ResponseOf,
} from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { checkShape, faultsOf } from '../contract/faults.ts'
import { requestDefaults } from '../contract/request-defaults.ts'
import type { SendResponse } from '../contract/resources/conversation.ts'
import type { StreamEvent, StreamFormat } from '../contract/resources/stream-event.ts'
import { checkPath, expandPath } from './network/address.ts'
import type { ApiResponse } from './response/response.ts'
import type { ReplyStream } from './stream/reply-stream.ts'

/** A request before it has a base URL and a credential, as `gate` sees it. */
export interface OutgoingRequest {
  method: string
  /** Relative to the base URL; begins with `/`. */
  path: string
  query?: Record<string, string> | undefined
  /** Names are lower case; `authorization` is never among them. */
  headers: Record<string, string>
  /** A JSON value; text or bytes for a request of `Client.send` or `Client.request`. */
  body?: unknown
}

/** The input of a call to an endpoint. @internal */
export interface Input<N extends EndpointName> {
  /** Values for the placeholders in its path. */
  params?: Record<string, string> | undefined
  query?: QueryOf<N> | undefined
  body?: RequestOf<N> | undefined
  /** Whether the body may have fields that the interface does not document. */
  allowsUnknownFields?: boolean | undefined
  /** Aborts this request. */
  signal?: AbortSignal | undefined
}

/** Any request, for `Client.send` and `Client.request`. */
export interface RawRequest {
  /** An HTTP method, in any case. */
  method: string
  /** Relative to the base URL; begins with `/`, and may have a query. */
  path: string
  query?: Record<string, string> | undefined
  /** `authorization`, `host`, and the headers of the connection are refused. */
  headers?: Record<string, string> | undefined
  /** Sent as `application/json` unless `headers` has a `content-type`. */
  body?: string | Uint8Array | undefined
  /** Aborts this request. */
  signal?: AbortSignal | undefined
}

/**
 * A request to a documented endpoint, checked against its schemas before it is sent.
 * @throws Failure `refused`, with the list of faults in its `details`
 * @internal
 */
export function composeRequest<N extends EndpointName>(
  name: N,
  input: Input<N>,
  accept: string,
): OutgoingRequest {
  const endpoint: Endpoint = endpoints[name]
  const path = expandPath(endpoint.path, input.params)
  const request: OutgoingRequest = { method: endpoint.method, path, headers: { accept } }
  if (endpoint.query) {
    const query = parse(endpoint.query, input.query ?? {}, 'query') as Record<string, unknown>
    const present = Object.entries(query).filter(([, value]) => value !== undefined)
    if (present.length > 0)
      request.query = Object.fromEntries(present.map(([key, value]) => [key, String(value)]))
  }
  if (endpoint.request) {
    request.body = parse(endpoint.request, input.body ?? {}, 'request body', input.allowsUnknownFields)
    request.headers['content-type'] = 'application/json'
  }
  return request
}

function parse(schema: z.ZodMiniType, value: unknown, what: string, allowsUnknownFields = false): unknown {
  const result = checkShape(schema, value)
  if (result.success) return result.data
  const { issues } = result.error
  if (allowsUnknownFields && issues.every(({ code }) => code === 'unrecognized_keys')) return value
  const faults = faultsOf(result.error)
  const list = faults.map(({ path, message }) => (path ? `${path} ${message}` : `it ${message}`)).join('; ')
  throw new Failure('refused', `Invalid ${what}: ${list}`, { details: { faults } })
}

/** Milliseconds that a request may take by default. */
export function defaultTimeoutOf({ method, path }: OutgoingRequest): number {
  const waitsForReply = [endpoints.createCompletion, endpoints.sendMessage].some(
    (endpoint) => endpoint.method === method && endpoint.path === path.split('?')[0],
  )
  return waitsForReply ? requestDefaults.replyTimeout : requestDefaults.timeout
}

/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that the client or the connection sets, and those that would bypass a safety rule. */
const ownHeaders = new Set([
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Any request below the base URL. @throws Failure `refused` for a method, path, or header that cannot be sent */
export function composeRawRequest(raw: RawRequest): OutgoingRequest {
  const method = raw.method.toUpperCase()
  if (!token.test(method) || method === 'CONNECT' || method === 'TRACE') {
    throw new Failure('refused', `${JSON.stringify(raw.method)} is not an HTTP method`)
  }
  checkPath(raw.path)
  const headers: Record<string, string> = { accept: 'application/json' }
  for (const [name, value] of Object.entries(raw.headers ?? {})) {
    const lower = name.toLowerCase()
    if (!token.test(name)) throw new Failure('refused', `${JSON.stringify(name)} is not a header name`)
    if (ownHeaders.has(lower))
      throw new Failure('refused', `The header ${name} cannot be set, because chatctl sets it`)
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new Failure('refused', `The value of the header ${name} contains characters that are not allowed`)
    }
    headers[lower] = value
  }
  if (raw.body !== undefined) headers['content-type'] ??= 'application/json'
  return { method, path: raw.path, headers, query: raw.query, body: raw.body }
}

/** Options of `Chat.collect`. */
export interface CollectOptions {
  /** Called with each event of the reply as it arrives. */
  onEvent?: ((event: StreamEvent) => void) | undefined
}

/** Calls the endpoints of the contract. Implemented by the client, used by its resources. @internal */
export interface EndpointCaller {
  call<N extends EndpointName>(name: N, input?: Input<N>): Promise<ApiResponse<ResponseOf<N>>>
  collect(input: Input<'sendMessage'>, options: CollectOptions): Promise<ApiResponse<SendResponse>>
  stream<N extends EndpointName>(name: N, input?: Input<N>, format?: StreamFormat): Promise<ReplyStream>
}
