import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import type { AuditContext } from '../domain/audit.ts'
import { type DataLocation, openExistingStore, openStore } from '../store/open-store.ts'
import { openInMemory } from '../store/sqlite/open-sqlite.ts'
import { storageFailure } from '../store/storage-failure.ts'
import type { Database, Store } from '../store/tables.ts'

/** The data for administration, which is opened at the first use. All methods throw Failure `storage`. */
export class DataAccess {
  readonly clock: Clock
  readonly by: AuditContext
  readonly #where: DataLocation
  readonly #location: string
  readonly #isDryRun: boolean
  #opened: Store | undefined

  /**
   * @param location see `Store.location`
   * @param isDryRun whether no change is stored
   */
  constructor(where: DataLocation, location: string, by: AuditContext, isDryRun: boolean) {
    this.clock = by.clock
    this.by = by
    this.#where = where
    this.#location = location
    this.#isDryRun = isDryRun
  }

  /** @param none the result, or the Failure, without data, when nothing is created; default: Failure `not_found` */
  read<T>(work: (db: Database) => Promise<T>, none: T | Failure = this.#noData()): Promise<T> {
    return this.#open(async (store) => {
      if (store) return work(store.db)
      if (none instanceof Failure) throw none
      return none
    })
  }

  /**
   * Makes one change, in one transaction. A dry run rolls it back and returns what it would return. Creates the
   * database if there is none yet and the change succeeds.
   */
  create<T>(work: (transaction: Database) => Promise<T>, isDryRun = this.#isDryRun): Promise<T> {
    return this.#open(async (store) => {
      if (store) return isDryRun ? rollBack(store, work) : store.db.transaction().execute(work)
      // A change that is refused creates no database.
      const rehearsed = await rehearse(work)
      if (isDryRun) return rehearsed
      this.#opened = await openStore(this.#where)
      return this.#opened.db.transaction().execute(work)
    })
  }

  /** As `create`, for a change of existing data. @param none the Failure without data; default: `not_found` */
  change<T>(work: (transaction: Database) => Promise<T>, none = this.#noData()): Promise<T> {
    return this.#open(async (store) => {
      if (!store) throw none
      return this.#isDryRun ? rollBack(store, work) : store.db.transaction().execute(work)
    })
  }

  /** What `create` would return or throw; stores nothing. */
  rehearse<T>(work: (transaction: Database) => Promise<T>): Promise<T> {
    return this.create(work, true)
  }

  #noData(): Failure {
    return new Failure('not_found', `No data in ${this.#location} yet`)
  }

  async close(): Promise<void> {
    await this.#opened?.close()
    this.#opened = undefined
  }

  /** Opens the data at the first use, if there is any. */
  async #open<T>(work: (existing: Store | undefined) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= await openExistingStore(this.#where)
      return await work(this.#opened)
    } catch (error) {
      throw storageFailure(error, this.#where.dataDir, this.#location)
    }
  }
}

async function rollBack<T>({ db }: Store, work: (transaction: Database) => Promise<T>): Promise<T> {
  const transaction = await db.startTransaction().execute()
  try {
    return await work(transaction)
  } finally {
    await transaction.rollback().execute()
  }
}

/** Makes a change in a new database in memory. It needs no directory that is writable. */
async function rehearse<T>(work: (transaction: Database) => Promise<T>): Promise<T> {
  const db = openInMemory()
  try {
    return await db.transaction().execute(work)
  } finally {
    await db.destroy()
  }
}
