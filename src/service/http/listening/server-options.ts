import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify'
import { toOriginForm } from '../request/origin-form.ts'
import { requestIdFor } from '../request/request-id.ts'
import { bodyLimit, keepAliveTimeout, limitConnections } from './connection-limits.ts'
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
    // Its own lines name hosts and ports; those of record-answer.ts say who asked for what and how it went.
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
