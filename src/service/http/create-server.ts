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
import { paths } from '../oauth/metadata.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import type { Store } from '../store/tables.ts'
import { toApiError } from '../to-api-error.ts'
import { HttpRequest, recordResponse } from './http-request.ts'
import { type Exposure, issuerOf, signInIsOff } from './listening/exposure.ts'
import { RequestTurns } from './listening/request-turns.ts'
import { serverOptions } from './listening/server-options.ts'
import { watchConnections } from './listening/watch-connections.ts'
import type { RequestPipeline } from './request-pipeline.ts'
import { logFailure, type ServiceResponse } from './service-request.ts'
import { respondToUnparsed } from './unparsed-request.ts'

export interface ServerOptions {
  /** Answers all requests but those to the OAuth server. Closed with the server. */
  pipeline: RequestPipeline
  store: Store
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
  env?: NodeJS.ProcessEnv | undefined
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
  const { readiness } = pipeline
  const records = { metrics, logsAddresses: exposure?.logsAddresses === true, clock }
  const open = (request: FastifyRequest, reply: FastifyReply) => {
    const opened = new HttpRequest(request, reply)
    if (metrics || logger) recordResponse(request, reply, opened, records)
    return opened
  }
  const turns = new RequestTurns()
  const answer = (fastifyRequest: FastifyRequest, reply: FastifyReply) => {
    const request = open(fastifyRequest, reply)
    turns.wait(request, async () => {
      const response = await pipeline.respond(request)
      turns.remember(request)
      try {
        send(reply, response, readiness.isStopping)
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
  const fail = (error: unknown, { log }: FastifyRequest, reply: FastifyReply) =>
    send(reply, pipeline.fail(error, {}, log), readiness.isStopping)
  server.setErrorHandler(fail)
  watchConnections(server, stallTimeout, logger)

  // Not in the handler: Fastify would check the content type first.
  const { supportedMethods: method } = server
  server.route({ method, url: '*', onRequest: answer, handler: () => {} })
  // For methods that Fastify does not know.
  server.setNotFoundHandler(answer)
  const begin = async (raw: FastifyRequest, reply: FastifyReply) => {
    const opened = open(raw, reply)
    await new Promise<void>((start) => turns.wait(opened, start))
    return opened
  }
  server.register(async (scope) => {
    scope.addHook('onRequest', async (raw, reply) => beginOAuth(await begin(raw, reply), reply, pipeline))
    serveOAuth(scope, () => loadOAuth(server, options, clock))
  })
  return server
}

/** What the pipeline does first for each request. The OAuth server does the rest. */
async function beginOAuth(request: HttpRequest, reply: FastifyReply, pipeline: RequestPipeline) {
  const headers = {}
  const { isStopping } = pipeline.readiness
  const preflight = await pipeline.begin(request, headers)
  reply.headers(headers)
  // The OAuth server does not call `send`.
  if (isStopping) reply.header('connection', 'close')
  if (preflight) send(reply, preflight, isStopping)
  return preflight && reply
}

/** @param isStopping a proxy must not send another request on a connection that is about to close */
function send(reply: FastifyReply, { status, headers, body }: ServiceResponse, isStopping: boolean): void {
  if (isStopping) headers['connection'] = 'close'
  if (typeof body !== 'string') return void reply.code(status).headers(headers).send(body)
  // Fastify's reply has several steps, none of which a text needs.
  headers['content-length'] = String(Buffer.byteLength(body))
  reply.raw.writeHead(status, headers).end(body)
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
  { pipeline, store, dataDir, exposure, logger, allowsDeviceAdmin, env }: ServerOptions,
  clock: Clock,
): Promise<OAuth> {
  const issuer = issuerOf(exposure, server.listeningOrigin)
  if (issuer === undefined) throw new ApiError('not_found', signInIsOff)
  const { openOAuth } = await import('../oauth/open-oauth.ts')
  const onError = (error: unknown) => logFailure(logger, toApiError(error))
  const checkSchema = () => pipeline.checkSchema()
  const authenticate = (credential: string) => pipeline.authenticate(credential)
  return openOAuth({
    ...{ store, dataDir, issuer, checkSchema, authenticate, onError, clock, allowsDeviceAdmin, env },
  })
}

/** The routes of the OAuth server. They require no key, and most respond with pages instead of JSON. */
const oauthRoutes = [
  ['GET', paths.metadata],
  ['GET', paths.authorize],
  ['GET', `${paths.authorize}/:uid`],
  ['POST', paths.token],
  ['POST', paths.revoke],
  ['POST', paths.deviceAuthorization],
  ['GET', paths.signIn],
  ['GET', `${paths.signIn}/:uid`],
  ['POST', `${paths.signIn}/:uid`],
  ['GET', paths.account],
  ['POST', paths.account],
  ['GET', paths.device],
  ['POST', paths.device],
] as const

/** Passes requests to the OAuth server, which is opened with the first one. */
function serveOAuth(server: FastifyInstance, open: () => Promise<OAuth>): void {
  let opened: Promise<OAuth> | undefined
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // If it cannot be opened, as without a database, the next request tries again.
    opened ??= open().catch((error) => {
      opened = undefined
      throw error
    })
    const oauth = await opened
    const { raw } = reply
    // The OAuth server writes the response itself, so it needs the headers that were set so far, such as CORS.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) raw.setHeader(name, value)
    try {
      await oauth(request.raw, raw, request.ip)
      reply.hijack()
    } catch (error) {
      if (raw.headersSent) request.log.error({ err: error }, toApiError(error).message)
      throw error
    }
  }
  for (const [method, url] of oauthRoutes) {
    server.route({ method, url, config: { endpoint: 'oauth' }, handler: answer })
  }
}
