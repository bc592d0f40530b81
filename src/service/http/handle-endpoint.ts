import { parse } from 'node:querystring'
import type { Clock } from '../../system/clock.ts'
import { type ApiError, statusOf } from '../api-error.ts'
import type { Principal } from '../domain/access/permissions.ts'
import { auditContextOf } from '../domain/audit.ts'
import type { SettingsCache } from '../domain/settings-cache.ts'
import { isOfInterface, type ServedEndpointName } from '../openai-endpoints.ts'
import type { ReplySource } from '../replies/reply-source.ts'
import type { Store } from '../store/tables.ts'
import { clientDisconnected, toApiError } from '../to-api-error.ts'
import { Created, type EndpointRequest, handlers } from './endpoint-handlers.ts'
import { validate } from './request/validate.ts'
import { EventStream, openEventStream } from './response/event-stream.ts'
import {
  type FailureSink,
  jsonResponse,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from './service-request.ts'

/** What the handlers of one server share. */
export interface ServerResources {
  store: Store
  replySource: ReplySource
  settingsCache: SettingsCache
  openAiFields?: readonly string[] | undefined
  signals: RequestSignals
  /** Logs and counts a failure that can only be reported inside a stream. */
  onFailure(error: unknown, log: FailureSink | undefined): ApiError
  clock: Clock
}

/** A request to an endpoint whose principal has the permission for it. */
interface AuthorizedRequest<N extends ServedEndpointName> {
  name: N
  /** `{id}` of the path; empty if the path has none. */
  id: string
  principal: Principal
  request: ServiceRequest
  body: unknown
  /** Authenticates the request again. @throws ApiError `unauthorized` or `forbidden` */
  confirm: () => Promise<unknown>
}

/** The endpoints that change what other requests depend on. */
const changesOfAll: ReadonlySet<ServedEndpointName> = new Set<ServedEndpointName>([
  'updateSettings',
  'setApiConfiguration',
  'assignPermissions',
])

/**
 * Validates a request of the interface, and calls its handler. The result is JSON or an event stream. The handlers for
 * OpenAI clients check their bodies, and ignore queries.
 */
export async function handleEndpoint<N extends ServedEndpointName>(
  { name, id, principal, request, body: given, confirm }: AuthorizedRequest<N>,
  { store, replySource, settingsCache, openAiFields, signals, onFailure, clock }: ServerResources,
  headers: ResponseHeaders,
): Promise<ServiceResponse> {
  const { body, query } = isOfInterface(name)
    ? validate(name, given, queryOf(request))
    : { body: given, query: {} }
  // Neither the expiry of a credential nor an unavailable database ends a running reply.
  const findRefusal = async () => {
    try {
      await confirm()
    } catch (error) {
      const hasExpired = principal.expiresAt !== null && Date.parse(principal.expiresAt) <= clock.now()
      if (!hasExpired && statusOf(toApiError(error)) < 500) return error
    }
  }
  const endpointRequest = {
    db: store.db,
    replySource,
    settingsCache,
    openAiFields,
    principal,
    by: auditContextOf(principal, request.id, clock),
    body,
    query,
    headers,
    id,
    acceptsEvents: request.headers.accept?.includes('text/event-stream') === true,
    // Not a getter: V8 would create a hidden class for each object, which keeps the request until a major GC.
    openSignal: () => signals.signalFor(request, findRefusal),
  }
  const result = await handlers[name](endpointRequest as EndpointRequest<N>)
  if (changesOfAll.has(name)) store.noteChange()
  if (result instanceof Created) {
    headers['location'] = result.location
    return jsonResponse(201, headers, result.body)
  }
  if (result instanceof EventStream) {
    const onError = (error: unknown) => {
      request.streamError = onFailure(error, request.log).code
    }
    const stream = await openEventStream(result, onError)
    headers['content-type'] = 'text/event-stream; charset=utf-8'
    headers['cache-control'] = 'no-store'
    headers['x-accel-buffering'] = 'no'
    return { status: 200, headers, body: stream }
  }
  return jsonResponse(200, headers, result)
}

function queryOf({ url }: ServiceRequest): object {
  const start = url.indexOf('?')
  return start === -1 ? {} : parse(url.slice(start + 1), '&', '=', { maxKeys: 0 })
}

/** How often, in ms, a request that waits for a model is authenticated again: access ends within a second. */
const confirmInterval = 800

/**
 * One abort signal for each request: it is aborted when the client disconnects, its key is revoked, or the
 * service stops. `AbortSignal.any` costs several times as much.
 */
export class RequestSignals {
  readonly #controllers = new Set<AbortController>()
  readonly #stopping: AbortSignal

  /** @param stopping aborted when requests in progress must end */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener('abort', () => {
      for (const controller of this.#controllers) controller.abort(stopping.reason)
    })
  }

  /** Aborted as soon as the response cannot be received any more. Call it once for each request. */
  signalFor(request: ServiceRequest, findRefusal: () => Promise<unknown>): AbortSignal {
    const controller = new AbortController()
    if (this.#stopping.aborted) controller.abort(this.#stopping.reason)
    const abort = () => controller.abort(clientDisconnected())
    if (request.isOver) {
      abort()
      return controller.signal
    }
    const timer = setTimeout(async () => {
      const refusal = await findRefusal()
      if (refusal !== undefined) controller.abort(refusal)
      else if (this.#controllers.has(controller)) timer.refresh()
    }, confirmInterval)
    this.#controllers.add(controller)
    request.onOver(() => {
      clearTimeout(timer)
      this.#controllers.delete(controller)
      if (!request.isAnswered) abort()
    })
    return controller.signal
  }
}
