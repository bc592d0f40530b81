import type { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../../system/clock.ts'
import { isBusy } from '../../../system/sqlite.ts'

/** How long, in ms, a writer waits for writers in other processes: 200 of them on 2 processors take more than 10 s. */
const busyTimeout = 30_000
/** Maximum pause between two attempts, in ms. */
const maxPause = 20

/** The operations that one COMMIT makes durable. */
interface Group {
  /** Settles after the COMMIT. */
  done: Promise<void>
  settle(error?: unknown): void
}

/**
 * Writes to one SQLite database from one connection. All writes of one turn of the event loop share a
 * transaction and its fsync. Each operation is a savepoint, so that a failure does not affect the others.
 * No operation succeeds before the COMMIT.
 *
 * Waits for a lock of another process without blocking the thread, which `busy_timeout` would do.
 */
export class GroupCommit {
  readonly #connection: DatabaseSync
  readonly #mutex = createMutex()
  readonly #runCommit: () => void
  readonly #clock: Clock
  #group: Group | undefined

  /**
   * @param connection with a `busy_timeout` of 0
   * @param runCommit runs COMMIT
   */
  constructor(connection: DatabaseSync, runCommit: () => void, clock: Clock = systemClock) {
    this.#connection = connection
    this.#runCommit = runCommit
    this.#clock = clock
  }

  /**
   * Waits for the mutex and begins an operation; `commit` or `rollback` must follow. No other operation can
   * write until then, so it must contain only queries.
   */
  async begin(): Promise<void> {
    // From here, so that operations that wait for the mutex do not wait for the file one after another.
    const deadline = this.#clock.monotonic() + busyTimeout
    await this.#mutex.acquire()
    try {
      if (!this.#group) await this.#open(deadline)
      this.#connection.exec('savepoint operation')
    } catch (error) {
      this.#mutex.release()
      throw error
    }
  }

  run<T>(statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      // After some errors, such as a full disk, SQLite has rolled back the transaction itself.
      if (!this.#connection.isTransaction) this.#end(error)
      throw error
    }
  }

  /** Settles when the operation is flushed to disk. Ends the operation in any case: `rollback` must not follow. */
  async commit(): Promise<void> {
    const group = this.#group
    try {
      this.run(() => this.#connection.exec('release operation'))
    } catch (error) {
      await this.rollback()
      throw error
    }
    this.#mutex.release()
    await group?.done
  }

  async rollback(): Promise<void> {
    try {
      if (this.#connection.isTransaction) {
        this.run(() => this.#connection.exec('rollback to operation; release operation'))
      }
    } finally {
      this.#mutex.release()
    }
  }

  /** Settles when all operations have ended. */
  async settled(): Promise<void> {
    await this.#mutex.acquire()
    this.#mutex.release()
    await this.#group?.done.catch(() => {})
  }

  async #open(deadline: number): Promise<void> {
    await this.#lockFile(deadline)
    const { promise: done, resolve, reject } = Promise.withResolvers<void>()
    // Each operation of the group receives the failure; without one, it must not be an unhandled rejection.
    done.catch(() => {})
    this.#group = { done, settle: (error) => (error === undefined ? resolve() : reject(error)) }
    const group = this.#group
    setImmediate(() => this.#finish(group).catch(ignored))
  }

  async #lockFile(deadline: number): Promise<void> {
    for (let pause = 1; ; pause = Math.min(pause * 2, maxPause)) {
      try {
        this.#connection.exec('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error) || this.#clock.monotonic() > deadline) throw error
        await this.#clock.sleep(pause * (0.5 + this.#clock.random()))
      }
    }
  }

  async #finish(group: Group): Promise<void> {
    // Operations that already wait still join the group.
    await this.#mutex.acquire()
    try {
      if (this.#group !== group) return
      this.#runCommit()
      this.#end()
    } catch (error) {
      this.#end(error)
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
    } finally {
      this.#mutex.release()
    }
  }

  #end(error?: unknown): void {
    this.#group?.settle(error)
    this.#group = undefined
  }
}

/** For a rollback that fails too: the operations have received the first failure. */
const ignored = (): void => {}

/** First come, first served. `acquire` settles when the caller has the mutex; `release` must follow. */
function createMutex() {
  const waiting: (() => void)[] = []
  let taken = false
  return {
    async acquire(): Promise<void> {
      if (!taken) {
        taken = true
        return
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    },
    release() {
      const next = waiting.shift()
      if (next) next()
      else taken = false
    },
  }
}
