import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EndpointName } from '../../../contract/endpoints.ts'
import type { Clock } from '../../../system/clock.ts'
import type { Caller } from '../../domain/access/callers.ts'
import { originOf } from '../../domain/audit.ts'
import type { LiveSettings } from '../../domain/live-settings.ts'
import type { Store } from '../../store/store.ts'
import { clientLeft, toRefusal } from '../../to-refusal.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { RequestMemory } from '../request/request-memory.ts'
import { validate } from '../request/validate.ts'
import { type Call, Created, handlers } from '../routes.ts'
import type { FailureLog } from './error-handler.ts'
import { EventStream, openEventStream } from './event-stream.ts'

/** What requests are answered with. */
export interface Serving {
  store: Store
  upstream: Upstream
  live: LiveSettings
  running: RunningAnswers
  memory: RequestMemory
  failures: FailureLog
  clock: Clock
}

/** Validates a request of the interface, has it handled, and sends what came of it in its form. */
export async function answerEndpoint<N extends EndpointName>(
  name: N,
  { store, upstream, live, running, memory, failures, clock }: Serving,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, query } = validate(name, request.body, request.query as object)
  const { id = '' } = request.params as { id?: string }
  const call = {
    db: store.db,
    upstream,
    live,
    caller,
    by: originOf(caller, request.id, clock),
    body,
    query,
    id,
    hold: (bytes: number) => memory.hold(reply, caller, bytes),
    get signal() {
      return running.signalFor(reply.raw)
    },
  }
  const result = await handlers[name](call as Call<N>)
  if (result instanceof Created) {
    return reply.code(201).header('location', result.location).send(result.body)
  }
  if (result instanceof EventStream) {
    const stream = await openEventStream(result, (error) => failures.write(request.log, toRefusal(error)))
    return reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(stream)
  }
  return result
}

/**
 * The answers that somebody still waits for, and what ends them early: the client goes away, or
 * the service stops. `AbortSignal.any` says the same at several times the cost.
 */
export class RunningAnswers {
  readonly #controllers = new Set<AbortController>()
  readonly #stopping: AbortSignal

  /** @param stopping aborted when what still runs is to end */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener('abort', () => {
      for (const controller of this.#controllers) controller.abort(stopping.reason)
    })
  }

  /** Aborted as soon as the answer is of no use any more. To be asked for once for each answer. */
  signalFor(response: ServerResponse): AbortSignal {
    const controller = new AbortController()
    if (this.#stopping.aborted) controller.abort(this.#stopping.reason)
    const leave = () => controller.abort(clientLeft())
    if (response.closed || response.destroyed) {
      leave()
      return controller.signal
    }
    this.#controllers.add(controller)
    response.once('close', () => {
      this.#controllers.delete(controller)
      if (!response.writableFinished) leave()
    })
    return controller.signal
  }
}
