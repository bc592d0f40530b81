import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import { type EndpointName, endpoints } from '../../contract/endpoints.ts'
import { originOf } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { createCallers } from '../domain/callers.ts'
import { LiveSettings } from '../domain/live-settings.ts'
import { requiredPermissions } from '../domain/permissions.ts'
import { Refusal } from '../domain/refusal.ts'
import { Limiter } from '../limits/limiter.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import type { Store } from '../store/store.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { authenticate, authorize, type ProcessKeys } from './authenticate.ts'
import { answerCors } from './cors.ts'
import { errorBodyOf, statusOf, toRefusal } from './error-answer.ts'
import { EventStream, letGoOfStalled, openEventStream } from './event-stream.ts'
import { serveOAuth } from './oauth-routes.ts'
import { acceptJson } from './parse-json.ts'
import { holdToLimits } from './rate-limit.ts'
import { requestIdFor } from './request-id.ts'
import { type Call, Created, handlers } from './routes.ts'
import { RunningAnswers } from './running-answers.ts'
import { answerUnparsed, refuseUnknown } from './unknown-route.ts'
import { validate } from './validate.ts'

export interface ServerParts {
  store: Store
  upstream: Upstream
  processKeys: ProcessKeys
  /** Aborted when what still runs is to end. */
  stopping: AbortSignal
  /** None: nothing is logged. */
  logger: FastifyBaseLogger | undefined
  /** The origin that clients see, where it is not the one that the server listens on. */
  issuer?: string | undefined
  /** How long, in ms, a request may take to arrive; 60,000 when not given. */
  requestTimeout?: number
  /** The clock of the limits: Unix time in ms. */
  now?: () => number
  /** How long, in ms, the reader of a stream may take nothing of it; 120,000 when not given. */
  readerTimeout?: number
}

/** What a request is answered with. */
type Serving = ServerParts & { live: LiveSettings; running: RunningAnswers }

/** The largest body in bytes. */
const bodyLimit = 16 * 1024 * 1024

/** The service's HTTP side, not yet listening. */
export function createServer(parts: ServerParts): FastifyInstance {
  const { logger, requestTimeout = 60_000 } = parts
  const server = fastify({
    // Its own lines name hosts and ports; ours, below, say who asked for what and how it went.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    ...(logger && { childLoggerFactory: (_, bindings) => logger.child(bindings) }),
    genReqId: ({ headers }) => requestIdFor(headers),
    bodyLimit,
    requestTimeout,
    // Node looks for requests that are overdue this often.
    http: {
      requestTimeout,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
    },
    // A request on a connection that was open before the service began to stop is still served.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // As long as the request line can be: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: 16 * 1024 },
    clientErrorHandler: (error, socket) => answerUnparsed(error, socket, logger),
    // A malformed path: no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      reply.raw.once('finish', () => logAnswer(request, reply, undefined))
      answerError(error, request, reply)
    },
  })
  const keyCallers = createCallers(parts.store)
  const callers = new WeakMap<FastifyRequest, Caller>()
  const running = new RunningAnswers(parts.stopping)
  const live = new LiveSettings(parts.store)
  const counters = parts.store.openCounters((message, err) => logger?.warn({ err }, message))
  const limiter = new Limiter(counters, parts.now)
  server.addHook('onClose', () => limiter.close())

  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (await answerCors(live, request, reply)) return reply
    // What no route matched is refused without a key only outside of the interface's two families.
    if (request.is404 && !/^\/(v1|api)(\/|\?|$)/.test(request.url)) return
    if (request.routeOptions.config.isPublic) return
    const caller = await authenticate(keyCallers, parts.store.db, parts.processKeys, request.headers)
    callers.set(request, caller)
    if (caller.isCounted) await holdToLimits(limiter, caller, await live.read(), reply)
  })
  server.addHook('onResponse', async (request, reply) => {
    logAnswer(request, reply, callers.get(request))
  })
  server.addHook('onClose', () => keyCallers.close())
  acceptJson(server)
  server.setErrorHandler(answerError)
  server.setNotFoundHandler(refuseUnknown)

  const serving = { ...parts, live, running }
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path } = endpoints[name]
    server.route({
      method,
      url: path.replace('{id}', ':id'),
      // Before the body is read: who may not send it has no use for what is wrong with it.
      onRequest: async (request) => authorize(callers.get(request), requiredPermissions[name]),
      handler: (request, reply) => answer(name, serving, callers.get(request), request, reply),
    })
  }
  serveOAuth(server, () => loadOAuth(server, parts))
  return server
}

/** One that listens on a loopback port is its own issuer. */
async function loadOAuth(server: FastifyInstance, { store, issuer, logger }: ServerParts): Promise<OAuth> {
  const { openOAuth } = await import('../oauth/open-oauth.ts')
  const onError = (error: unknown) => logger?.error({ err: error }, 'a sign-in failed')
  return openOAuth({ db: store.db, issuer: new URL(issuer ?? server.listeningOrigin).origin, onError })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Asks for no key. */
    isPublic?: boolean
  }
}

async function answer<N extends EndpointName>(
  name: N,
  { store, upstream, live, running, readerTimeout }: Serving,
  caller: Caller | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (!caller) throw new Refusal('unauthorized', 'The API key is not valid')
  const { body, query } = validate(name, request.body, request.query as object)
  const { id = '' } = request.params as { id?: string }
  const call = {
    db: store.db,
    upstream,
    live,
    caller,
    by: originOf(caller, request.id),
    body,
    query,
    id,
    get signal() {
      return running.signalFor(reply.raw)
    },
  }
  const result = await handlers[name](call as Call<N>)
  if (result instanceof Created) {
    return reply.code(201).header('location', result.location).send(result.body)
  }
  if (result instanceof EventStream) {
    const stream = await openEventStream(result, (error) => logFailure(request, toRefusal(error)))
    letGoOfStalled(reply.raw, readerTimeout)
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

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = toRefusal(error)
  logFailure(request, refusal)
  if (refusal.code === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="chatctl"')
  if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter)
  void reply.code(statusOf(refusal)).send(errorBodyOf(refusal))
}

function logAnswer(request: FastifyRequest, reply: FastifyReply, caller: Caller | undefined): void {
  const { method, url } = request
  // The address of a sign-in names it: what is logged is its route.
  const path = request.routeOptions.config.isPublic ? request.routeOptions.url : url.split('?', 1)[0]
  const ms = Math.round(reply.elapsedTime)
  request.log.info({ method, path, status: reply.statusCode, ms, key: caller?.keyId }, 'answered')
}

/** Only what is the service's own trouble: a caller's mistakes show as the status of a line. */
function logFailure(request: FastifyRequest, refusal: Refusal): void {
  if (statusOf(refusal) < 500) return
  request.log.error({ code: refusal.code, err: refusal.cause ?? refusal }, refusal.message)
}
