import type { Clock } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import { requireKnownSchema } from '../../store/migrations.ts'
import type { Database } from '../../store/tables.ts'
import { toApiError } from '../../to-api-error.ts'

/** How long, in ms, the database may take to respond. */
const databaseTimeout = 2_000
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

async function checkDatabase(db: Database): Promise<ApiError | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ApiError>((resolve) => {
    const apiError = new ApiError('storage_busy', 'The database does not respond')
    timer = setTimeout(resolve, databaseTimeout, apiError)
  })
  const asked = db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('number').as('newest'))
    .executeTakeFirst()
    .then((row) => requireKnownSchema(row?.newest ?? 0))
    .then(() => undefined, toApiError)
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}
