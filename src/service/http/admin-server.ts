import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { ApiError, errorBodyOf } from '../api-error.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import { listenFailure } from './listening/exposure.ts'
import { healthResponse, type Readiness, readyResponse } from './public/public-routes.ts'
import { jsonResponse, type ResponseHeaders, type ServiceResponse } from './service-request.ts'

/** Metrics and health are for programs on this machine only. */
const host = '127.0.0.1'

interface Served {
  metrics: Metrics
  readiness: Readiness
}

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
  served: Served,
  port: number | undefined,
  url: string,
): Promise<AdminServer> {
  const server = createServer((request, response) => {
    respond(request, served)
      .then(({ status, headers, body }) =>
        response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : body),
      )
      .catch(() => response.destroy())
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

async function respond(
  { headersDistinct, method = '', url = '' }: IncomingMessage,
  { metrics, readiness }: Served,
): Promise<ServiceResponse> {
  const headers: ResponseHeaders = { 'cache-control': 'no-store' }
  const fail = (status: number, apiError: ApiError) => jsonResponse(status, headers, errorBodyOf(apiError))
  if (!isForMachine(headersDistinct['host'])) {
    const words = 'There must be one Host header, with an IP address or localhost'
    // RFC 9110 section 15.5.20.
    return fail(421, new ApiError('invalid_request', words))
  }
  const path = url.split('?', 1)[0]
  if (path !== '/metrics' && path !== '/healthz' && path !== '/readyz')
    return fail(404, new ApiError('not_found', 'Unknown path; use /metrics, /healthz, or /readyz'))
  if (method !== 'GET' && method !== 'HEAD') {
    headers['allow'] = 'GET, HEAD'
    return fail(405, new ApiError('method_not_allowed', `${path} supports GET and HEAD`))
  }
  if (path === '/healthz') return healthResponse(headers)
  if (path === '/readyz') return readyResponse(readiness, headers)
  const { contentType, text } = await metrics.write()
  headers['content-type'] = contentType
  return { status: 200, headers, body: text }
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
