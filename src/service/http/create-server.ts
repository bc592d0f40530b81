import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { type Clock, systemClock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import type { Store } from '../store/tables.ts'
import { toApiError } from '../to-api-error.ts'
import { HttpRequest, recordResponse } from './http-request.ts'
import { type Exposure, issuerOf, signInIsOff } from './listening/exposure.ts'
import { RequestTurns } from './listening/request-turns.ts'
import { serverOptions } from './listening/server-options.ts'
import { watchConnections } from './listening/watch-connections.ts'
import { serveOAuth } from './oauth-routes.ts'
import type { RequestPipeline } from './request-pipeline.ts'
import type { ServiceResponse } from './service-request.ts'
import { logFailure } from './service-request.ts'
import { respondToUnparsed } from './unparsed-request.ts'

export interface ServerOptions {
  /** Answers all requests but those to the OAuth server. Closed with the server. */
  pipeline: RequestPipeline
  store: Store
  /** The data directory. */
  dataDir: string
  /** Undefined: nothing is logged. */
  logger: FastifyBaseLogger | undefined
  /** How long, in ms, a request may take to arrive. Default: 60,000. */
  requestTimeout?: number
  /** How long, in ms, a client may read nothing of its response. Default: 60,000. */
  stallTimeout?: number
  /** Default: the system's clock. */
  clock?: Clock
  /** Whether a device sign-in may have the scope `admin`. Default: no. */
  allowsDeviceAdmin?: boolean | undefined
  /** Default: plain HTTP without a proxy. */
  exposure?: Exposure
  /** Undefined: nothing is counted. */
  metrics?: Metrics | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The label of the route in the metrics, if the pipeline does not answer it. */
    endpoint?: string
  }
}

/** Creates the HTTP server of the service. It does not listen yet. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { pipeline, logger, metrics, exposure, clock = systemClock } = options
  const { requestTimeout = 60_000, stallTimeout = 60_000 } = options
  const records = { metrics, logsAddresses: exposure?.logsAddresses === true, clock }
  const open = (request: FastifyRequest, reply: FastifyReply) => {
    const opened = new HttpRequest(request, reply)
    if (metrics || logger) recordResponse(request, reply, opened, records)
    return opened
  }
  // A proxy must not send another request on a connection that is about to close.
  const announceClose = (reply: FastifyReply) => {
    if (pipeline.readiness.isStopping) reply.header('connection', 'close')
  }
  const send = (reply: FastifyReply, { status, headers, body }: ServiceResponse): FastifyReply => {
    announceClose(reply)
    return reply.code(status).headers(headers).send(body)
  }
  // Fastify's reply has several steps, none of which a text needs.
  const sendText = (reply: FastifyReply, { status, headers }: ServiceResponse, text: string) => {
    headers['content-length'] = String(Buffer.byteLength(text))
    if (pipeline.readiness.isStopping) headers['connection'] = 'close'
    reply.raw.writeHead(status, headers).end(text)
  }
  const turns = new RequestTurns()
  const answer = (fastifyRequest: FastifyRequest, reply: FastifyReply) => {
    const request = open(fastifyRequest, reply)
    turns.wait(request, async () => {
      const response = await pipeline.respond(request)
      turns.remember(request)
      try {
        if (typeof response.body === 'string') sendText(reply, response, response.body)
        else send(reply, response)
      } catch (error) {
        reply.send(error)
      }
    })
  }

  const server = fastify({
    ...serverOptions({ logger, exposure, requestTimeout }),
    clientErrorHandler: (error, socket) => {
      if (respondToUnparsed(error, socket, logger)) metrics?.countUnparsed()
    },
    // Fastify runs no hook for a malformed path.
    frameworkErrors: (_error, request, reply) => answer(request, reply),
  })
  if (exposure?.tls) demandHttps(server)
  server.addHook('onClose', () => pipeline.close())
  // The pipeline and the OAuth server read bodies themselves.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
  server.setErrorHandler((error, request, reply) => send(reply, pipeline.fail(error, {}, request.log)))
  watchConnections(server, stallTimeout)

  // Not in the handler: Fastify would check the content type first.
  const { supportedMethods: method } = server
  server.route({ method, url: '*', onRequest: answer, handler: () => {} })
  // For methods that Fastify does not know.
  server.setNotFoundHandler(answer)
  server.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      const opened = open(request, reply)
      await new Promise<void>((start) => turns.wait(opened, start))
      const headers = {}
      const preflight = await pipeline.begin(opened, headers)
      reply.headers(headers)
      // The OAuth server does not call `send`.
      announceClose(reply)
      return preflight && send(reply, preflight)
    })
    serveOAuth(scope, () => loadOAuth(server, options, clock))
  })
  return server
}

/** RFC 6797: for browsers, and only with TLS of the service. A proxy that terminates TLS sends its own header. */
function demandHttps({ server }: FastifyInstance): void {
  server.prependListener('request', (_, response) =>
    response.setHeader('strict-transport-security', 'max-age=31536000'),
  )
}

/** @throws ApiError `not_found` if the service does not know its public origin */
async function loadOAuth(
  server: FastifyInstance,
  { pipeline, store, dataDir, exposure, logger, allowsDeviceAdmin }: ServerOptions,
  clock: Clock,
): Promise<OAuth> {
  const issuer = issuerOf(exposure, server.listeningOrigin)
  if (issuer === undefined) throw new ApiError('not_found', signInIsOff)
  const { openOAuth } = await import('../oauth/open-oauth.ts')
  const onError = (error: unknown) => logFailure(logger, toApiError(error))
  const checkSchema = () => pipeline.checkSchema()
  return openOAuth({ db: store.db, dataDir, issuer, checkSchema, onError, clock, allowsDeviceAdmin })
}
