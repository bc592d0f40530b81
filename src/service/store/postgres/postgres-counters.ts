import { CompiledQuery } from 'kysely'
import {
  type Counters,
  type CountRequest,
  type CountResult,
  countColumns,
  countRequests,
  firstRow,
} from '../counters.ts'
import type { Database } from '../tables.ts'

/** Two processes that make the table at once: PostgreSQL lets one of them fail. */
const alreadyExists = ['23505', '42P07']

/** Rows are rewritten at each turn; with room beside them no index is touched. */
const table = `
create table if not exists request_counts (
  key_id text primary key,
  hour bigint not null,
  hour_count bigint not null,
  minute bigint not null,
  minute_count bigint not null,
  hourly_limit bigint not null,
  minute_limit bigint not null,
  granted bigint not null
) with (fillfactor = 50)`

/**
 * One statement for all asks. It turns `synchronous_commit` off for itself alone: a crash of the
 * server takes the last counts away, and nobody waits for its disk. Rows are locked in the order
 * of their keys, so that two processes cannot wait for each other.
 */
const statement = `${countRequests(
  `select ${countColumns.map((name) => `asks.${name}`).join(', ')}
    from unnest($1::text[], ${countColumns.slice(1).map((_, index) => `$${index + 2}::bigint[]`)})
      as asks (${countColumns.join(', ')}),
      (select set_config('synchronous_commit', 'off', true)) as relaxed
    order by asks.key_id`,
  'least',
  'greatest',
)}, key_id`

/** Counts in the service's own database, which is not closed here. */
export class PostgresCounters implements Counters {
  readonly #db: Database
  #made: Promise<void> | undefined

  constructor(db: Database) {
    this.#db = db
  }

  async count(requests: readonly CountRequest[]): Promise<CountResult[]> {
    this.#made ??= this.#makeTable()
    await this.#made
    const rows = requests.map(firstRow)
    const columns = countColumns.map((_, column) => rows.map((row) => row[column]))
    const query = CompiledQuery.raw(statement, columns)
    const taken = await this.#db.executeQuery<CountResult & { key_id: string }>(query)
    const byKey = new Map(taken.rows.map(({ key_id, ...row }) => [key_id, row]))
    return requests.map(({ keyId }) => {
      const row = byKey.get(keyId)
      if (!row) throw new Error('PostgreSQL did not return every count')
      return row
    })
  }

  async close(): Promise<void> {}

  async #makeTable(): Promise<void> {
    try {
      await this.#db.executeQuery(CompiledQuery.raw(table))
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (typeof code === 'string' && alreadyExists.includes(code)) return
      this.#made = undefined
      throw error
    }
  }
}
