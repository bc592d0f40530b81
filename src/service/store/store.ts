import type { Counters, Warn } from './counters.ts'
import type { Database } from './tables.ts'

/** The data of a service, on either engine. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres'
  /** A transaction may run again or share a commit with others, so it must contain only queries. */
  readonly db: Database
  /** The file, or the URL of the database without a secret. */
  readonly location: string
  /** Whether this call created the data; false for another process that opens it at the same time. */
  readonly created: boolean
  /**
   * Data that was read before may be out of date once this number differs. Cheap enough for each request.
   * Covers settings, keys, users, and API configuration.
   */
  generation(): number
  /**
   * Must be called after a change of the settings, the API configuration, or a permission, so that the next request
   * of this process finds it.
   */
  noteChange(): void
  /** The counters of requests. The caller must close them before the store. */
  openCounters(warn: Warn): Counters
  close(): Promise<void>
}
