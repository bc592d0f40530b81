import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import type { RequestOutcome } from '../contract/failure.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { LineLog } from '../system/files/line-log.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import type { Ledger } from './ledger.ts'
import { type Change, type CommandRecord, intentOf, lineOf, outcomeOf, type StateRecord } from './record.ts'
import { compactLedger } from './rewrite-ledger.ts'
import { lockLedger } from './use-lock.ts'

/** Maximum number of rate-limited changes that are remembered. */
const maxLimited = 10_000

/**
 * Writes the changes of a run to the ledger of a service: one line before a change is sent, flushed to disk, and one
 * with its outcome. Concurrent changes share a flush. A change whose outcome is missing has an unknown outcome.
 */
export class LedgerRun {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #id = randomBytes(6).toString('hex')
  readonly #log: LineLog
  readonly #unlock: (() => void) | undefined
  readonly #open = new Set<string>()
  #count = 0
  /** Changes that were rate limited, by what identifies them: the same one may be sent again. */
  readonly #limited = new Map<string, string>()

  /** @throws Failure `storage` if the ledger cannot be opened */
  constructor(ledger: Ledger, run: Pick<CommandRecord, 'command' | 'profile' | 'service'>, clock: Clock) {
    const { path } = ledger
    const failureOf = (cause: unknown) => systemFailure(`Cannot write the ledger ${path}`, cause)
    this.#ledger = ledger
    this.#clock = clock
    this.#log = new LineLog({ path, isShared: true, failureOf })
    try {
      makePrivateDirectory(dirname(path))
      this.#unlock = lockLedger(`${path}.lock`, 'run')
      if (!this.#unlock) throw new Error('another chatctl process rewrites it')
      this.#log.append(lineOf({ run: this.#id, v: 1, at: isoNow(clock), ...run, pid: process.pid }))
    } catch (cause) {
      this.#unlock?.()
      throw failureOf(cause)
    }
  }

  /**
   * Resolves when the change is on disk.
   *
   * @returns writes its outcome
   * @throws Failure `storage`
   */
  async begin(change: Change): Promise<(outcome: RequestOutcome) => void> {
    const intent = intentOf(change)
    const key = () => JSON.stringify(intent)
    const repeated = this.#limited.size === 0 ? undefined : this.#limited.get(key())
    const id = repeated ?? `${this.#id}-${++this.#count}`
    if (repeated === undefined) this.#log.append(lineOf({ ...intent, id, at: isoNow(this.#clock) }))
    else {
      this.#limited.delete(key())
      this.#log.append(lineOf(outcomeOf(id, intent, { outcome: 'unknown' })))
    }
    this.#open.add(id)
    await this.#log.flush()
    return (outcome) => {
      this.#open.delete(id)
      this.#log.append(lineOf(outcomeOf(id, intent, outcome)))
      if (outcome.status === 429 && this.#limited.size < maxLimited) this.#limited.set(key(), id)
    }
  }

  /** Notes a generation of a state file. @throws Failure `storage` */
  noteState(note: Omit<StateRecord, 'by'>): void {
    this.#log.append(lineOf({ ...note, by: this.#id }))
  }

  /** Writes what is left, and compacts a large ledger. @throws Failure `storage` */
  close(): void {
    try {
      this.#log.append(lineOf({ end: this.#id, open: [...this.#open] }))
      this.#log.close()
    } finally {
      this.#unlock?.()
    }
    compactLedger(this.#ledger)
  }
}
