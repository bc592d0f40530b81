import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { type EndpointName, endpoints } from '../../contract/endpoints.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { createCallers } from '../domain/access/callers.ts'
import { requiredPermissions } from '../domain/access/permissions.ts'
import { LiveSettings } from '../domain/live-settings.ts'
import { Limiter } from '../limits/limiter.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import { Refusal } from '../refusal.ts'
import type { Store } from '../store/store.ts'
import { toRefusal } from '../to-refusal.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { answerEndpoint, RunningAnswers, type Serving } from './answer/answer-endpoint.ts'
import { createErrorHandler, FailureLog } from './answer/error-handler.ts'
import { recordAnswer } from './answer/record-answer.ts'
import { type Exposure, issuerOf, noSignIn } from './listening/exposure.ts'
import { headerLines, serverOptions } from './listening/server-options.ts'
import { watchConnections } from './listening/watch-connections.ts'
import { serveOAuth } from './oauth-routes.ts'
import { addOpenRoutes } from './open/open-routes.ts'
import { Readiness } from './open/readiness.ts'
import { authenticate, authorize, type ProcessKeys, RequestCallers } from './request/authenticate.ts'
import { answerCors } from './request/cors.ts'
import { acceptJson } from './request/parse-json.ts'
import { holdToLimits } from './request/rate-limit.ts'
import { RequestMemory } from './request/request-memory.ts'
import { answerExpectation, answerUnparsed, refuseUnknown } from './unrouted-request.ts'

export interface ServerParts {
  store: Store
  /** The data directory. */
  dataDir: string
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
  /** The system's when not given. */
  clock?: Clock
  /** Plain HTTP, and nobody in between, when not given. */
  exposure?: Exposure
  /** Shared with whatever else is asked whether the service is ready. */
  readiness?: Readiness
  /** None: nothing is counted. */
  metrics?: Metrics | undefined
  /** Of the program, for the status page. */
  version?: string | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Asks for no key, and costs no quota. */
    isOpen?: boolean
    /** The name of a route in the metrics. */
    endpoint?: string
  }
}

/** The service's HTTP side, not yet listening. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { store, logger, metrics, exposure, clock = systemClock } = parts
  const { requestTimeout = 60_000, stallTimeout = 60_000 } = parts
  const readiness = parts.readiness ?? new Readiness(store.db, clock)
  const keyCallers = createCallers(store, clock)
  const live = new LiveSettings(store)
  const limiter = new Limiter(
    store.openCounters((message, err) => logger?.warn({ err }, message)),
    clock,
  )
  const failures = new FailureLog(clock)
  const running = new RunningAnswers(parts.stopping)
  const memory = new RequestMemory()
  const serving = { ...parts, live, running, memory, failures, clock }
  const { processKeys } = parts
  const credentials = { callers: keyCallers, db: store.db, processKeys, clock }
  const callers = new RequestCallers((headers) => authenticate(credentials, headers), clock)
  const records = {
    metrics,
    namesAddresses: exposure?.namesAddresses === true,
    keyOf: (request: FastifyRequest) => callers.find(request)?.keyId,
    clock,
  }
  const answerError = createErrorHandler(metrics, failures)

  const server = fastify({
    ...serverOptions({ logger, exposure, requestTimeout }),
    clientErrorHandler: (error, socket) => {
      if (answerUnparsed(error, socket, logger)) metrics?.countUnparsed()
    },
    // A malformed path: no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      recordAnswer(request, reply, records)
      answerError(error, request, reply)
    },
  })
  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (metrics || logger) recordAnswer(request, reply, records)
    if (request.raw.rawHeaders.length > 2 * headerLines) {
      throw new Refusal('header_too_large', `The request has more than ${headerLines} header lines`)
    }
    const answered = answerCors(live, request, reply)
    if (answered && (await answered)) return reply
    if (request.routeOptions.config?.isOpen) return
    // What no route matched is refused without a key only outside of the interface's two families.
    if (request.is404 && !/^\/(v1|api)(\/|\?|$)/.test(request.url)) return
    const caller = await callers.identify(request)
    if (caller.isCounted) await holdToLimits(limiter, caller, await live.read(), reply, metrics)
  })
  // A proxy must not send another request on a connection that is about to be closed.
  const announceClose = async (_: FastifyRequest, reply: FastifyReply) => {
    if (readiness.isStopping) reply.header('connection', 'close')
  }
  // Twice: what OAuth answers does not pass `onSend`, and the service may stop while a request runs.
  server.addHook('onRequest', announceClose)
  server.addHook('onSend', announceClose)
  server.addHook('onClose', async () => {
    await keyCallers.close()
    await limiter.close()
  })
  acceptJson(server, memory)
  server.setErrorHandler(answerError)
  server.setNotFoundHandler(refuseUnknown)
  server.server.on('checkExpectation', answerExpectation)
  watchConnections(server, stallTimeout)

  addOpenRoutes(server, { readiness, version: parts.version, publicUrl: exposure?.publicUrl })
  addEndpoints(server, callers, serving)
  serveOAuth(server, () => loadOAuth(server, parts, failures, clock))
  return server
}

/** Every row of the contract's table. */
function addEndpoints(server: FastifyInstance, callers: RequestCallers, serving: Serving): void {
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path } = endpoints[name]
    server.route({
      method,
      url: path.replace('{id}', ':id'),
      config: { endpoint: name },
      // Before the body is read: who may not send it has no use for what is wrong with it.
      onRequest: async (request, reply) => {
        const caller = callers.of(request)
        authorize(caller, requiredPermissions[name])
        serving.memory.holdBody(request, reply, caller)
      },
      handler: async (request, reply) => {
        // Whoever held a body back must not keep rights by it that were taken away meanwhile.
        if (callers.isLate(request)) authorize(await callers.identify(request), requiredPermissions[name])
        return answerEndpoint(name, serving, callers.of(request), request, reply)
      },
    })
  }
}

/** @throws Refusal `not_found` where it is not known under which name people would sign in */
async function loadOAuth(
  server: FastifyInstance,
  { store, dataDir, exposure, logger }: ServerParts,
  failures: FailureLog,
  clock: Clock,
): Promise<OAuth> {
  const issuer = issuerOf(exposure, server.listeningOrigin)
  if (issuer === undefined) throw new Refusal('not_found', noSignIn)
  const { openOAuth } = await import('../oauth/open-oauth.ts')
  const onError = (error: unknown) => logger && failures.write(logger, toRefusal(error))
  return openOAuth({ db: store.db, dataDir, issuer, onError, clock })
}
