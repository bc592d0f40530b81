import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify'
import { requestIdFor } from '../service-request.ts'
import { maxHeaderSize } from '../unparsed-request.ts'
import type { Exposure } from './exposure.ts'

/** The options of Fastify and of Node's HTTP server. */
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
    // Fastify's request lines contain hosts and ports; http-request.ts logs each request instead.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    ...(logger && { childLoggerFactory: (_, bindings) => logger.child(bindings) }),
    genReqId: ({ headers }) => requestIdFor(headers),
    requestTimeout,
    keepAliveTimeout,
    ...(exposure?.tls ? { https: { ...connections, ...exposure.tls } } : { http: connections }),
    // Only the entry of the one proxy is trusted: a client can send the others.
    ...(exposure?.behindProxy && { trustProxy: (_: string, hop: number) => hop === 0 }),
    // A request on a connection that was open when the service began to stop is still served.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The contract validates. With these, Fastify does not load its compilers, which take half of its start-up time.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // As long as the request line can be, so that an id that is too long is reported as an unknown id.
    routerOptions: { maxParamLength: 16 * 1024 },
  }
}

function noSchemas(): never {
  throw new Error('routes of this service have no Fastify schemas')
}

/** How long, in ms, the headers of a request may take to arrive. */
const headersTimeout = 20_000

/**
 * In ms. Longer than proxies keep an idle connection, usually 60 s, so that the proxy closes it first,
 * and sends no request on a connection that the service is closing.
 */
const keepAliveTimeout = 75_000

/** The limits that Node enforces on every connection. `requestTimeout` in ms, for a whole request to arrive. */
function limitConnections(requestTimeout: number) {
  return {
    maxHeaderSize,
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, headersTimeout),
    // How often, in ms, Node checks for requests that are overdue.
    connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
  }
}
