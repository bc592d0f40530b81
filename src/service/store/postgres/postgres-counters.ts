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

/** SQLSTATEs if another process creates the table at the same time. */
const alreadyExists = ['23505', '42P07']

/** Rows are rewritten often. With free space in the page, PostgreSQL does not update the index. */
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
 * One statement for all requests. It turns `synchronous_commit` off for itself only: it does not wait for
 * the disk, and a crash of the server loses the last counts. Rows are locked in the order of their keys,
 * so that two processes cannot deadlock.
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

/** Counts in the database of the service, which `close` does not close. */
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
