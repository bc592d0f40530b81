import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
  LogController,
} from 'fastify'
import { type EndpointName, endpoints } from '../../contract/endpoints.ts'
import { originOf } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { createCallers } from '../domain/callers.ts'
import { requiredPermissions } from '../domain/permissions.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Store } from '../store/store.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { authenticate, authorize, type ProcessKeys } from './authenticate.ts'
import { bodyLimit, headerLines, keepAliveTimeout, limitConnections } from './connection-limits.ts'
import { errorBodyOf, statusOf, toRefusal } from './error-answer.ts'
import { EventStream, openEventStream } from './event-stream.ts'
import type { Exposure } from './exposure.ts'
import { addOpenRoutes, isOpen } from './open-routes.ts'
import { acceptJson } from './parse-json.ts'
import { Readiness } from './readiness.ts'
import { type Records, recordAnswer } from './record-answer.ts'
import { requestIdFor } from './request-id.ts'
import { type Call, Created, handlers } from './routes.ts'

import { answerExpectation, answerUnparsed, refuseUnknown } from './unknown-route.ts'
import { validate } from './validate.ts'
import { watchConnections } from './watch-connections.ts'

export interface ServerParts {
  store: Store
  upstream: Upstream
  processKeys: ProcessKeys
  /** Aborted when what still runs is to end. */
  stopping: AbortSignal
  /** None: nothing is logged. */
  logger: FastifyBaseLogger | undefined
  /** How long, in ms, a request may take to arrive; 60,000 when not given. */
  requestTimeout?: number
  /** How long, in ms, a client may take nothing of its answer; 60,000 when not given. */
  stallTimeout?: number
  /** Plain HTTP, and nobody in between, when not given. */
  exposure?: Exposure
  /** Shared with whatever else is asked whether the service is ready. */
  readiness?: Readiness
  /** None: nothing is counted. */
  metrics?: Metrics | undefined
  /** Of the program, for the status page. */
  version?: string | undefined
}

/** The service's HTTP side, not yet listening. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { logger, metrics, exposure, requestTimeout = 60_000, stallTimeout = 60_000 } = parts
  const readiness = parts.readiness ?? new Readiness(parts.store.db)
  const connections = limitConnections(requestTimeout)
  const callers = new WeakMap<FastifyRequest, Caller>()
  const records: Records = {
    metrics,
    namesAddresses: exposure?.namesAddresses === true,
    keyOf: (request) => callers.get(request)?.keyId,
  }
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('x-request-id', request.id)
    recordAnswer(request, reply, records)
  }
  const options: FastifyServerOptions = {
    // Its own lines name hosts and ports; ours, below, say who asked for what and how it went.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    ...(logger && { childLoggerFactory: (_, bindings) => logger.child(bindings) }),
    genReqId: ({ headers }) => requestIdFor(headers),
    bodyLimit,
    requestTimeout,
    keepAliveTimeout,
    ...(exposure?.tls ? { https: { ...connections, ...exposure.tls } } : { http: connections }),
    // One proxy: what stands before its own entries anybody may have written.
    ...(exposure?.behindProxy && { trustProxy: (_: string, hop: number) => hop === 0 }),
    // A request on a connection that was open before the service began to stop is still served.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // As long as the request line can be: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: 16 * 1024 },
    clientErrorHandler: (error, socket) => {
      if (answerUnparsed(error, socket, logger)) metrics?.countUnparsed()
    },
    // A malformed path: no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      answerError(error, request, reply)
    },
  }
  const server = fastify(options)
  const keyCallers = createCallers(parts.store)

  server.addHook('onRequest', async (request, reply) => {
    begin(request, reply)
    if (request.raw.rawHeaders.length > 2 * headerLines) {
      throw new Refusal('header_too_large', `The request has more than ${headerLines} header lines`)
    }
    if (isOpen(request)) return
    // What no route matched is refused without a key only outside of the interface's two families.
    if (request.is404 && !/^\/(v1|api)(\/|\?|$)/.test(request.url)) return
    callers.set(request, await authenticate(keyCallers, parts.processKeys, request.headers))
  })
  server.addHook('onClose', () => keyCallers.close())
  acceptJson(server)
  server.setErrorHandler(answerError)
  server.setNotFoundHandler(refuseUnknown)

  server.server.on('checkExpectation', answerExpectation)
  watchConnections(server, stallTimeout)
  addOpenRoutes(server, { readiness, version: parts.version, publicUrl: exposure?.publicUrl })
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path } = endpoints[name]
    server.route({
      method,
      url: path.replace('{id}', ':id'),
      config: { endpoint: name },
      // Before the body is read: who may not send it has no use for what is wrong with it.
      onRequest: async (request) => authorize(callers.get(request), requiredPermissions[name]),
      handler: (request, reply) => answer(name, parts, callers.get(request), request, reply),
    })
  }
  return server

  function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = toRefusal(error)
    logFailure(request, refusal)
    metrics?.countRefusal(refusal.code)
    if (refusal.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="chatctl"')
    if (refusal.code === 'storage_unavailable') reply.header('retry-after', '1')
    void reply.code(statusOf(refusal)).send(errorBodyOf(refusal))
  }
}

async function answer<N extends EndpointName>(
  name: N,
  { store, upstream, stopping }: ServerParts,
  caller: Caller | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (!caller) throw new Refusal('unauthorized', 'The API key is not valid')
  const { body, query } = validate(name, request.body, request.query as object)
  const { id = '' } = request.params as { id?: string }
  const signal = AbortSignal.any([stopping, clientGone(reply)])
  const by = originOf(caller, request.id)
  const call = { db: store.db, upstream, caller, by, body, query, id, signal }
  const result = await handlers[name](call as Call<N>)
  if (result instanceof Created) {
    return reply.code(201).header('location', result.location).send(result.body)
  }
  if (result instanceof EventStream) {
    const stream = await openEventStream(result, (error) => logFailure(request, toRefusal(error)))
    return reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(stream)
  }
  return result
}

/** The contract validates. Named here, Fastify does not load its own compilers: half of its start-up. */
function noSchemas(): never {
  throw new Error('routes of this service have no Fastify schemas')
}

function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new Refusal('request_timeout', 'The client went away'))
  })
  return controller.signal
}

/** Only what is the service's own trouble: a caller's mistakes show as the status of a line. */
function logFailure(request: FastifyRequest, refusal: Refusal): void {
  if (statusOf(refusal) < 500) return
  request.log.error({ code: refusal.code, err: refusal.cause ?? refusal }, refusal.message)
}
