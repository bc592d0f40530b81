import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isBusy } from './sqlite-errors.ts'

/** How long, in ms, a writer waits for writers in other processes. */
const busyTimeout = 10_000
/** How long, in ms, it sleeps between two attempts, at most. */
const maxPause = 20

/** The operations that one COMMIT makes durable. */
interface Group {
  /** Settles with the COMMIT. */
  done: Promise<void>
  settle(error?: unknown): void
}

/**
 * Writes to one SQLite database, from one connection. What is written in one turn of the event
 * loop shares a transaction, and so one fsync; each operation is a savepoint in it, so that one
 * that fails takes nothing else along. Nobody hears of success before the COMMIT.
 *
 * Another process's lock is waited for without blocking the thread, as `busy_timeout` would.
 */
export class GroupCommit {
  readonly #connection: DatabaseSync
  readonly #turns = createMutex()
  #group: Group | undefined

  /** @param connection with a `busy_timeout` of 0 */
  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  /**
   * Waits for its turn and opens an operation; `commit` or `rollback` must follow. In between
   * nobody else writes, so that only queries belong there.
   */
  async begin(): Promise<void> {
    await this.#turns.acquire()
    try {
      if (!this.#group) await this.#open()
      this.#connection.exec('savepoint operation')
    } catch (error) {
      this.#turns.release()
      throw error
    }
  }

  /** Runs a statement of the operation that is open. */
  run<T>(statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      // After some errors, a full disk among them, SQLite has rolled everything back by itself.
      if (!this.#connection.isTransaction) this.#end(error)
      throw error
    }
  }

  /** Settles when the operation is on the disk. It is over either way: `rollback` must not follow. */
  async commit(): Promise<void> {
    const group = this.#group
    try {
      this.run(() => this.#connection.exec('release operation'))
    } catch (error) {
      await this.rollback()
      throw error
    }
    this.#turns.release()
    await group?.done
  }

  async rollback(): Promise<void> {
    try {
      if (this.#connection.isTransaction) {
        this.run(() => this.#connection.exec('rollback to operation; release operation'))
      }
    } finally {
      this.#turns.release()
    }
  }

  /** Settles when nothing that was begun is left open. */
  async settled(): Promise<void> {
    await this.#turns.acquire()
    this.#turns.release()
    await this.#group?.done.catch(() => {})
  }

  async #open(): Promise<void> {
    await this.#lockFile()
    const { promise: done, resolve, reject } = Promise.withResolvers<void>()
    // Of a failure each operation of the group hears by itself, if there is any.
    done.catch(() => {})
    this.#group = { done, settle: (error) => (error === undefined ? resolve() : reject(error)) }
    const group = this.#group
    setImmediate(() => this.#finish(group).catch(ignored))
  }

  async #lockFile(): Promise<void> {
    const deadline = performance.now() + busyTimeout
    for (let pause = 1; ; pause = Math.min(pause * 2, maxPause)) {
      try {
        this.#connection.exec('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        await delay(pause * (0.5 + Math.random()))
      }
    }
  }

  async #finish(group: Group): Promise<void> {
    // Whoever already waits for a turn still joins.
    await this.#turns.acquire()
    try {
      if (this.#group !== group) return
      this.#connection.exec('commit')
      this.#end()
    } catch (error) {
      this.#end(error)
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
    } finally {
      this.#turns.release()
    }
  }

  #end(error?: unknown): void {
    this.#group?.settle(error)
    this.#group = undefined
  }
}

/** A rollback that fails too; whoever wrote has heard of the first failure, and the next one to write will see. */
const ignored = (): void => {}

/** Lets one after the other in, first come, first served. */
interface Mutex {
  /** Settles when it is the caller's turn; `pass` must follow. */
  acquire(): Promise<void>
  release(): void
}

function createMutex(): Mutex {
  const waiting: (() => void)[] = []
  let taken = false
  return {
    async acquire() {
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
