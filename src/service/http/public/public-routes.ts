import type { Clock } from '../../../system/clock.ts'
import { ApiError, errorBodyOf, serviceStopping } from '../../api-error.ts'
import { createId } from '../../domain/identifiers.ts'
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
  ['/readyz', { label: 'readyz', respond: ({ readiness }, _, headers) => readyResponse(readiness, headers) }],
  [
    '/',
    {
      label: 'status_page',
      async respond({ readiness, version, publicUrl }, { origin }, headers) {
        const { renderStatusPage } = await import('./status-page.ts')
        const isReady = (await readiness.check()) === undefined
        const page = renderStatusPage(publicUrl ?? origin, version, isReady)
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

/** How long, in ms, a result is reused: requests without a key must not cause work, and a check writes. */
const maxAge = 1_000

/** How long, in ms, a check waits for a write under load if the last result is recent. Load balancers wait 250 ms. */
const patience = 100
const recentAge = 5_000

/** How long, in ms, a check may take: a writer of SQLite waits for the lock of another process for 30 s. */
const maxCheck = 2_000
const tooSlow = 'A write takes more than 2 s: the database is locked by another program, or does not respond'

/** Whether the service can handle requests. */
export class Readiness {
  readonly #db: Database
  readonly #clock: Clock
  readonly #onFailure: (error: ApiError) => void
  #stopping = false
  #last: { at: number; outcome: ApiError | undefined } | undefined
  #running: Promise<ApiError | undefined> | undefined

  /** @param onFailure receives the failure of each check, with its cause */
  constructor(db: Database, clock: Clock, onFailure: (error: ApiError) => void = () => {}) {
    this.#db = db
    this.#clock = clock
    this.#onFailure = onFailure
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
    if (this.#stopping) return Promise.resolve(serviceStopping())
    const now = this.#clock.monotonic()
    const last = this.#last
    const isRecent = (age: number) => last !== undefined && now - last.at <= age
    if (last && !this.#running && isRecent(maxAge)) return Promise.resolve(last.outcome)
    this.#running ??= this.#run()
    if (!last || !isRecent(recentAge)) return this.#running
    return Promise.race([this.#running, this.#clock.sleep(patience).then(() => last.outcome)])
  }

  #run(): Promise<ApiError | undefined> {
    const settled = new AbortController()
    const check = checkDatabase(this.#db).catch((error) => this.#fail(toApiError(error)))
    const limit = this.#clock.sleep(maxCheck, settled.signal).then(
      () => this.#fail(new ApiError('storage_unavailable', tooSlow)),
      () => check,
    )
    // A check that takes long is not started again.
    void check.then((outcome) => {
      settled.abort()
      this.#last = { at: this.#clock.monotonic(), outcome }
      this.#running = undefined
    })
    return Promise.race([check, limit])
  }

  #fail(error: ApiError): ApiError {
    this.#onFailure(error)
    return error
  }
}

/** Large enough to need pages of SQLite that the disk must have. */
const probe = 'x'.repeat(8192)

/** Reads and writes, because a full disk and a read-only server can still be read. Stores nothing. */
function checkDatabase(db: Database): Promise<undefined> {
  return db.transaction().execute(async (transaction) => {
    const row = await transaction
      .selectFrom('migrations')
      .select(({ fn }) => fn.max('number').as('newest'))
      .executeTakeFirst()
    requireKnownSchema(row?.newest ?? 0)
    const name = createId('req')
    await transaction.insertInto('service_secrets').values({ name, value: probe, created_at: '' }).execute()
    await transaction.deleteFrom('service_secrets').where('name', '=', name).execute()
    return undefined
  })
}
