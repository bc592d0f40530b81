import type { Clock } from '../../../system/clock.ts'
import { ApiError, errorBodyOf } from '../../api-error.ts'
import { requireKnownSchema } from '../../store/migrations.ts'
import type { Database } from '../../store/tables.ts'
import { toApiError } from '../../to-api-error.ts'
import {
  jsonResponse,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from '../service-request.ts'

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
  ['/healthz', { label: 'healthz', respond: (_options, _request, headers) => healthResponse(headers) }],
  [
    '/readyz',
    {
      label: 'readyz',
      respond: ({ readiness }, _request, headers) => readyResponse(readiness, headers),
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

export const healthResponse = (headers: ResponseHeaders) => jsonResponse(200, headers, { status: 'ok' })

export async function readyResponse(
  readiness: Readiness,
  headers: ResponseHeaders,
): Promise<ServiceResponse> {
  const apiError = await readiness.check()
  if (apiError) return jsonResponse(503, headers, errorBodyOf(apiError))
  return jsonResponse(200, headers, { status: 'ready' })
}

/** Undefined for a path that requires a key, or is unknown. */
export const findPublicRoute = (path: string): PublicRoute | undefined => publicRoutes.get(path)

/** How long, in ms, a result is reused: requests without a key must not cause work. */
const maxAge = 500

/** Whether the service can handle requests. */
export class Readiness {
  readonly #db: Database
  readonly #clock: Clock
  #stopping = false
  #checked: { at: number; outcome: Promise<ApiError | undefined> } | undefined

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** From now on, this service is not ready. */
  stop(): void {
    this.#stopping = true
  }

  get isStopping(): boolean {
    return this.#stopping
  }

  /** Why the service is not ready, or undefined if it is. Never rejects. */
  check(): Promise<ApiError | undefined> {
    if (this.#stopping) {
      return Promise.resolve(new ApiError('service_stopping', 'The service is stopping'))
    }
    const now = this.#clock.monotonic()
    if (!this.#checked || now - this.#checked.at > maxAge) {
      this.#checked = { at: now, outcome: checkDatabase(this.#db) }
    }
    return this.#checked.outcome
  }
}

function checkDatabase(db: Database): Promise<ApiError | undefined> {
  return db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('number').as('newest'))
    .executeTakeFirst()
    .then((row) => requireKnownSchema(row?.newest ?? 0))
    .then(() => undefined, toApiError)
}
