import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorBodyOf } from '../../api-error.ts'
import { challengeHeader, proofHeader, proveRun } from '../../run-proof.ts'
import type { Readiness } from './readiness.ts'
import { renderStatusPage } from './status-page.ts'

/** The paths that require no key and cost no quota, with their labels in the metrics. */
const publicPaths: ReadonlyMap<string, string> = new Map([
  ['/', 'status_page'],
  ['/healthz', 'healthz'],
  ['/readyz', 'readyz'],
])

export const isPublicPath = (path: string): boolean => publicPaths.has(path)

export interface PublicRoutesOptions {
  readiness: Readiness
  /** Shown if it is known. */
  version: string | undefined
  /** The key in the run record, if there is one. */
  runKey: string | undefined
  /** The origin that clients use. Default: the origin of the request. */
  publicUrl: string | undefined
}

/** Adds the health checks, and a page for people who open the address of the service in a browser. */
export function addPublicRoutes(
  server: FastifyInstance,
  { readiness, version, runKey, publicUrl }: PublicRoutesOptions,
): void {
  const get = (path: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) =>
    server.get(
      path,
      { config: { isPublic: true, endpoint: publicPaths.get(path) ?? 'unknown' } },
      async (request, reply) => {
        reply.header('cache-control', 'no-store')
        return handler(request, reply)
      },
    )
  get('/healthz', () => ({ status: 'ok' }))
  get('/readyz', async (request, reply) => {
    const proof = runKey && proveRun(runKey, request.headers[challengeHeader])
    if (proof) reply.header(proofHeader, proof)
    const apiError = await readiness.check()
    if (!apiError) return { status: 'ready' }
    return reply.code(503).send(errorBodyOf(apiError))
  })
  get('/', async (request, reply) => {
    const isReady = (await readiness.check()) === undefined
    const url = publicUrl ?? requestedOrigin(request)
    const page = renderStatusPage({ version, url, isReady })
    return reply.code(page.status).headers(page.headers).send(page.body)
  })
}

/** The origin of the request. An invalid host is not repeated in the page. */
function requestedOrigin({ protocol, host, socket }: FastifyRequest): string {
  const scheme = protocol === 'https' ? 'https' : 'http'
  const isHost = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)
  const url = `${scheme}://${host}`
  if (isHost && URL.canParse(url)) return new URL(url).origin
  return new URL(`${scheme}://127.0.0.1:${socket.localPort}`).origin
}
