import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { type EndpointName, endpoints } from '../../contract/endpoints.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import { createKeyAuthenticator } from '../domain/access/key-authenticator.ts'
import { requiredPermissions } from '../domain/access/permissions.ts'
import { SettingsCache } from '../domain/settings-cache.ts'
import { RateLimiter } from '../limits/rate-limiter.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import type { Store } from '../store/store.ts'
import { toApiError } from '../to-api-error.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { handleEndpoint, RequestSignals, type ServerResources } from './handle-endpoint.ts'
import { type Exposure, issuerOf, signInIsOff } from './listening/exposure.ts'
import { maxHeaderLines, serverOptions } from './listening/server-options.ts'
import { watchConnections } from './listening/watch-connections.ts'
import { serveOAuth } from './oauth-routes.ts'
import { addPublicRoutes } from './public/public-routes.ts'
import { Readiness } from './public/readiness.ts'
import { authenticate, authorize, type ProcessKeys, RequestPrincipals } from './request/authenticate.ts'
import { applyCors } from './request/cors.ts'
import { enforceRateLimits } from './request/enforce-rate-limits.ts'
import { acceptJson } from './request/parse-json.ts'
import { RequestMemory } from './request/request-memory.ts'
import { createErrorHandler, FailureLog } from './response/error-handler.ts'
import { recordResponse } from './response/record-response.ts'
import { refuseExpectation, refuseUnmatched, respondToUnparsed } from './unrouted-request.ts'

export interface ServerOptions {
  store: Store
  /** The data directory. */
  dataDir: string
  upstream: Upstream
  processKeys: ProcessKeys
  /** The key in the run record. */
  runKey?: string | undefined
  /** Aborted when requests in progress must end. */
  stopping: AbortSignal
  /** Undefined: nothing is logged. */
  logger: FastifyBaseLogger | undefined
  /** How long, in ms, a request may take to arrive. Default: 60,000. */
  requestTimeout?: number
  /** How long, in ms, a client may read nothing of its response. Default: 60,000. */
  stallTimeout?: number
  /** Default: the system's clock. */
  clock?: Clock
  /** Default: plain HTTP without a proxy. */
  exposure?: Exposure
  /** Shared with the admin server. */
  readiness?: Readiness
  /** Undefined: nothing is counted. */
  metrics?: Metrics | undefined
  /** The version of chatctl, for the status page. */
  version?: string | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requires no key and costs no quota. */
    isPublic?: boolean
    /** The label of the route in the metrics. */
    endpoint?: string
  }
}

/** Creates the HTTP server of the service. It does not listen yet. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { store, logger, metrics, exposure, clock = systemClock } = options
  const { requestTimeout = 60_000, stallTimeout = 60_000 } = options
  const readiness = options.readiness ?? new Readiness(store.db, clock)
  const keyAuthenticator = createKeyAuthenticator(store, clock)
  const settingsCache = new SettingsCache(store)
  const limiter = new RateLimiter(
    store.openCounters((message, err) => logger?.warn({ err }, message)),
    clock,
  )
  const failures = new FailureLog(clock)
  const signals = new RequestSignals(options.stopping)
  const memory = new RequestMemory()
  const resources = { ...options, settingsCache, signals, memory, failures, clock }
  const { processKeys } = options
  const credentials = { keys: keyAuthenticator, db: store.db, processKeys, clock }
  const principals = new RequestPrincipals((headers) => authenticate(credentials, headers), clock)
  const records = {
    metrics,
    logsAddresses: exposure?.logsAddresses === true,
    keyOf: (request: FastifyRequest) => principals.find(request)?.keyId,
    clock,
  }
  const handleError = createErrorHandler(metrics, failures)

  const server = fastify({
    ...serverOptions({ logger, exposure, requestTimeout }),
    clientErrorHandler: (error, socket) => {
      if (respondToUnparsed(error, socket, logger)) metrics?.countUnparsed()
    },
    // Fastify runs no hook for a malformed path.
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      recordResponse(request, reply, records)
      handleError(error, request, reply)
    },
  })
  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (metrics || logger) recordResponse(request, reply, records)
    if (request.raw.rawHeaders.length > 2 * maxHeaderLines) {
      throw new ApiError('header_too_large', `The request has more than ${maxHeaderLines} header lines`)
    }
    const answered = applyCors(settingsCache, request, reply)
    if (answered && (await answered)) return reply
    if (request.routeOptions.config?.isPublic) return
    // An unknown path requires a key only under /v1 and /api.
    if (request.is404 && !/^\/(v1|api)(\/|\?|$)/.test(request.url)) return
    const principal = await principals.authenticate(request)
    if (principal.isRateLimited)
      await enforceRateLimits(limiter, principal, await settingsCache.read(), reply, metrics)
  })
  // A proxy must not send another request on a connection that is about to close.
  const announceClose = async (_: FastifyRequest, reply: FastifyReply) => {
    if (readiness.isStopping) reply.header('connection', 'close')
  }
  // In both hooks: OAuth responses skip `onSend`, and the service may stop after `onRequest`.
  server.addHook('onRequest', announceClose)
  server.addHook('onSend', announceClose)
  server.addHook('onClose', async () => {
    await keyAuthenticator.close()
    await limiter.close()
  })
  acceptJson(server, memory)
  server.setErrorHandler(handleError)
  server.setNotFoundHandler(refuseUnmatched)
  server.server.on('checkExpectation', refuseExpectation)
  watchConnections(server, stallTimeout)

  const { version, runKey } = options
  addPublicRoutes(server, { readiness, version, runKey, publicUrl: exposure?.publicUrl })
  addEndpoints(server, principals, resources)
  serveOAuth(server, () => loadOAuth(server, options, failures, clock))
  return server
}

/** Adds a route for each endpoint of the contract. */
function addEndpoints(
  server: FastifyInstance,
  principals: RequestPrincipals,
  resources: ServerResources,
): void {
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path } = endpoints[name]
    server.route({
      method,
      url: path.replace('{id}', ':id'),
      config: { endpoint: name },
      // Before the body is read: without the permission, a client does not learn what is wrong with its body.
      onRequest: async (request, reply) => {
        const principal = principals.require(request)
        authorize(principal, requiredPermissions[name])
        resources.memory.reserveBody(request, reply, principal)
      },
      handler: async (request, reply) => {
        // A client that delays its body must not keep a permission that was revoked in the meantime.
        if (principals.isLate(request))
          authorize(await principals.authenticate(request), requiredPermissions[name])
        return handleEndpoint(name, resources, principals.require(request), request, reply)
      },
    })
  }
}

/** @throws ApiError `not_found` if the service does not know its public origin */
async function loadOAuth(
  server: FastifyInstance,
  { store, dataDir, exposure, logger }: ServerOptions,
  failures: FailureLog,
  clock: Clock,
): Promise<OAuth> {
  const issuer = issuerOf(exposure, server.listeningOrigin)
  if (issuer === undefined) throw new ApiError('not_found', signInIsOff)
  const { openOAuth } = await import('../oauth/open-oauth.ts')
  const onError = (error: unknown) => logger && failures.write(logger, toApiError(error))
  return openOAuth({ db: store.db, dataDir, issuer, onError, clock })
}
