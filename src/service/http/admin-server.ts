import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { ApiError, errorBodyOf } from '../api-error.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import { listenFailure } from './listening/exposure.ts'
import type { Readiness } from './public/public-routes.ts'

/** Metrics and health are for programs on this machine only. */
const host = '127.0.0.1'

export interface AdminServer {
  url: string
  close(): Promise<void>
}

/**
 * Serves `/metrics`, `/healthz`, and `/readyz` on a separate loopback port, without keys.
 * @param port 0 for any free one. Default: 1,000 above the port of the service, or any if that is in use
 * @param url of the service
 * @throws Failure `conflict` or `refused` for the given port
 */
export async function startAdminServer(
  { metrics, readiness }: { metrics: Metrics; readiness: Readiness },
  port: number | undefined,
  url: string,
): Promise<AdminServer> {
  const server = createServer((request, response) => {
    if (!isForMachine(request.headersDistinct['host'])) return refuse(response)
    answer(metrics, readiness, request.method ?? '', request.url ?? '', response).catch(() =>
      response.destroy(),
    )
  })
  try {
    await listen(server, port ?? defaultPort(url))
  } catch (cause) {
    if (port !== undefined) throw listenFailure(cause, host, port, 'admin')
    await listen(server, 0)
  }
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Whether a request was meant for this machine. A web page can make its own host name resolve to this
 * machine (DNS rebinding) and then read the response. It cannot do so for an IP address or `localhost`.
 */
function isForMachine([host = '', ...others]: readonly string[] = []): boolean {
  const name = host.replace(/:\d*$/, '')
  if (others.length > 0) return false
  return name.toLowerCase() === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** RFC 9110 section 15.5.20. */
function refuse(response: ServerResponse): void {
  const apiError = new ApiError(
    'invalid_request',
    'There must be one Host header, with an IP address or localhost',
  )
  response
    .writeHead(421, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify(errorBodyOf(apiError)))
}

async function answer(
  metrics: Metrics,
  readiness: Readiness,
  method: string,
  url: string,
  response: ServerResponse,
): Promise<void> {
  const path = url.split('?', 1)[0]
  const send = (status: number, body: object) =>
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      .end(method === 'HEAD' ? undefined : JSON.stringify(body))
  if (path !== '/metrics' && path !== '/healthz' && path !== '/readyz') {
    const apiError = new ApiError('not_found', 'Unknown path; use /metrics, /healthz, or /readyz')
    send(404, errorBodyOf(apiError))
  } else if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    send(405, errorBodyOf(new ApiError('method_not_allowed', `${path} supports GET and HEAD`)))
  } else if (path === '/healthz') {
    send(200, { status: 'ok' })
  } else if (path === '/readyz') {
    const apiError = await readiness.check()
    if (apiError) send(503, errorBodyOf(apiError))
    else send(200, { status: 'ready' })
  } else {
    const { contentType, text } = await metrics.write()
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' })
    response.end(method === 'HEAD' ? undefined : text)
  }
}

/** Derived from the port of the service, so that each of several services on a machine has a predictable one. */
function defaultPort(url: string): number {
  const port = Number(new URL(url).port) + 1_000
  return port <= 65_535 ? port : 0
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}
