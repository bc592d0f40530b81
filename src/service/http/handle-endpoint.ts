import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EndpointName } from '../../contract/endpoints.ts'
import type { Clock } from '../../system/clock.ts'
import type { Principal } from '../domain/access/permissions.ts'
import { auditContextOf } from '../domain/audit.ts'
import type { SettingsCache } from '../domain/settings-cache.ts'
import type { Store } from '../store/store.ts'
import { clientDisconnected, toApiError } from '../to-api-error.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { Created, type EndpointRequest, handlers } from './endpoint-handlers.ts'
import type { RequestMemory } from './request/request-memory.ts'
import { validate } from './request/validate.ts'
import type { FailureLog } from './response/error-handler.ts'
import { EventStream, openEventStream } from './response/event-stream.ts'

/** What the handlers of one server share. */
export interface ServerResources {
  store: Store
  upstream: Upstream
  settingsCache: SettingsCache
  signals: RequestSignals
  memory: RequestMemory
  failures: FailureLog
  clock: Clock
}

/** Validates a request of the interface, calls its handler, and sends the result as JSON or as an event stream. */
export async function handleEndpoint<N extends EndpointName>(
  name: N,
  { store, upstream, settingsCache, signals, memory, failures, clock }: ServerResources,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, query } = validate(name, request.body, request.query as object)
  const { id = '' } = request.params as { id?: string }
  const endpointRequest = {
    db: store.db,
    upstream,
    settingsCache,
    principal,
    by: auditContextOf(principal, request.id, clock),
    body,
    query,
    id,
    reserve: (bytes: number) => memory.reserve(reply, principal, bytes),
    get signal() {
      return signals.signalFor(reply.raw)
    },
  }
  const result = await handlers[name](endpointRequest as EndpointRequest<N>)
  if (result instanceof Created) {
    return reply.code(201).header('location', result.location).send(result.body)
  }
  if (result instanceof EventStream) {
    const stream = await openEventStream(result, (error) => failures.write(request.log, toApiError(error)))
    return reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(stream)
  }
  return result
}

/**
 * One abort signal for each request: it is aborted when the client disconnects or the service stops.
 * `AbortSignal.any` costs several times as much.
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

  /** Aborted as soon as nobody waits for the response any more. Call it once for each response. */
  signalFor(response: ServerResponse): AbortSignal {
    const controller = new AbortController()
    if (this.#stopping.aborted) controller.abort(this.#stopping.reason)
    const abort = () => controller.abort(clientDisconnected())
    if (response.closed || response.destroyed) {
      abort()
      return controller.signal
    }
    this.#controllers.add(controller)
    response.once('close', () => {
      this.#controllers.delete(controller)
      if (!response.writableFinished) abort()
    })
    return controller.signal
  }
}
