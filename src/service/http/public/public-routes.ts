import { errorBodyOf } from '../../api-error.ts'
import {
  jsonResponse,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from '../service-request.ts'
import type { Readiness } from './readiness.ts'

export interface PublicRoutesOptions {
  readiness: Readiness
  /** Shown if it is known. */
  version: string | undefined
  /** The origin that clients use. Default: the origin of the request. */
  publicUrl: string | undefined
}

interface PublicRoute {
  /** In the metrics. */
  label: string
  respond(
    options: PublicRoutesOptions,
    request: ServiceRequest,
    headers: ResponseHeaders,
  ): ServiceResponse | Promise<ServiceResponse>
}

/** The paths that require no key and cost no quota: health checks, and a page for people with a browser. */
const publicRoutes: ReadonlyMap<string, PublicRoute> = new Map([
  [
    '/healthz',
    {
      label: 'healthz',
      respond: (_options, _request, headers) => jsonResponse(200, headers, { status: 'ok' }),
    },
  ],
  [
    '/readyz',
    {
      label: 'readyz',
      async respond({ readiness }, _request, headers) {
        const apiError = await readiness.check()
        if (apiError) return jsonResponse(503, headers, errorBodyOf(apiError))
        return jsonResponse(200, headers, { status: 'ready' })
      },
    },
  ],
  [
    '/',
    {
      label: 'status_page',
      async respond({ readiness, version, publicUrl }, { origin }, headers) {
        const { renderStatusPage } = await import('./status-page.ts')
        const isReady = (await readiness.check()) === undefined
        const page = renderStatusPage({ version, url: publicUrl ?? origin, isReady })
        return { status: page.status, headers: { ...headers, ...page.headers }, body: page.body }
      },
    },
  ],
] satisfies [string, PublicRoute][])

/** Undefined for a path that requires a key, or is unknown. */
export const findPublicRoute = (path: string): PublicRoute | undefined => publicRoutes.get(path)
