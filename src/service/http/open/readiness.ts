import { sql } from 'kysely'
import type { Clock } from '../../../system/clock.ts'
import { Refusal } from '../../refusal.ts'
import type { Database } from '../../store/tables.ts'
import { toRefusal } from '../../to-refusal.ts'

/** How long, in ms, the database may take to say that it is there. */
const patience = 2_000
/** How long, in ms, an answer is good for: whoever asks without a key makes no work. */
const freshness = 500

/** Whether requests should be sent here. */
export class Readiness {
  readonly #db: Database
  readonly #clock: Clock
  #stopping = false
  #checked: { at: number; outcome: Promise<Refusal | undefined> } | undefined

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** From now on this service is not ready. */
  stop(): void {
    this.#stopping = true
  }

  get isStopping(): boolean {
    return this.#stopping
  }

  /** Why no requests should come, or undefined when they may. Never rejects. */
  check(): Promise<Refusal | undefined> {
    if (this.#stopping) {
      return Promise.resolve(new Refusal('service_stopping', 'The service is stopping'))
    }
    const now = this.#clock.monotonic()
    if (!this.#checked || now - this.#checked.at > freshness) {
      this.#checked = { at: now, outcome: askDatabase(this.#db) }
    }
    return this.#checked.outcome
  }
}

async function askDatabase(db: Database): Promise<Refusal | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Refusal>((resolve) => {
    const refusal = new Refusal('storage_busy', 'The database does not respond')
    timer = setTimeout(resolve, patience, refusal)
  })
  const asked = sql`select number from migrations limit 1`.execute(db).then(() => undefined, toRefusal)
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}
