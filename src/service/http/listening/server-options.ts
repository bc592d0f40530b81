import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify'
import { createId } from '../../domain/identifiers.ts'
import type { Exposure } from './exposure.ts'

/** What is set of Fastify and of Node's HTTP server. */
export function serverOptions({
  logger,
  exposure,
  requestTimeout,
}: {
  logger: FastifyBaseLogger | undefined
  exposure: Exposure | undefined
  requestTimeout: number
}): FastifyServerOptions {
  const connections = limitConnections(requestTimeout)
  return {
    // Its own lines name hosts and ports; record-response.ts logs each request once, with its outcome.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    ...(logger && { childLoggerFactory: (_, bindings) => logger.child(bindings) }),
    rewriteUrl: toOriginForm,
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
    // The contract validates. Named here, Fastify does not load its own compilers: half of its start-up.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // As long as the request line can be: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: 16 * 1024 },
  }
}

function noSchemas(): never {
  throw new Error('routes of this service have no Fastify schemas')
}

/** What is safe in a header, a line of a log and a database. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** The caller's own `x-request-id`, so that its logs and ours name one thing alike, or else a new one. */
function requestIdFor(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && requestIdPattern.test(given) ? given : createId('req')
}

/**
 * The target of a request as path and query. One may also name scheme and host (RFC 9112 section
 * 3.2.2); routes would match that too, and whatever looks at the address itself would not.
 */
function toOriginForm(request: IncomingMessage & { originalUrl?: string | undefined }): string {
  // Fastify keeps what was there before in it, and oidc-provider would take the difference for a prefix.
  request.originalUrl = undefined
  const { url = '' } = request
  const [authority = ''] = /^https?:\/\/[^/?#]*/i.exec(url) ?? []
  const rest = url.slice(authority.length)
  return authority !== '' && !rest.startsWith('/') ? `/${rest}` : rest
}

/** The largest body in bytes: parsing it must not block the event loop for long. */
export const bodyLimit = 4 * 1024 * 1024

/** The most lines in the head of a request. */
export const maxHeaderLines = 100

/** How long, in ms, the head of a request may take. */
const headersTimeout = 20_000

/**
 * Longer than proxies keep an idle connection, which is 60 s as a rule: so that they are the ones
 * to close it, and no request is lost on the way to a connection that closes.
 */
const keepAliveTimeout = 75_000

/** What Node itself sees to on every connection; `requestTimeout` in ms, for a whole request to arrive. */
function limitConnections(requestTimeout: number) {
  return {
    maxHeaderSize: 16 * 1024,
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, headersTimeout),
    // Node looks for requests that are overdue this often.
    connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
  }
}
