import type { Counters, Warn } from './counters.ts'
import type { Database } from './tables.ts'

/** The data of a service, on whichever engine. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres'
  /** `db.transaction()` may be tried again or share a commit with others: only queries belong inside. */
  readonly db: Database
  /** The database in words that hold no secret: a file, or host and name. */
  readonly location: string
  /** This call made the data; another process opening the same empty place gets false. */
  readonly created: boolean
  /**
   * Something that was read before may be out of date once this number differs. Cheap enough to be
   * asked for at every request. Covers settings, keys, users and API configuration.
   */
  generation(): number
  /** Where requests are counted, opened at the first; whoever asked for it closes it before the store. */
  openCounters(warn: Warn): Counters
  close(): Promise<void>
}
