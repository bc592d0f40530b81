import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { endpoints } from '../contract/endpoints.ts'
import { Failure, type RequestOutcome } from '../contract/failure.ts'
import { type Change, intentOf } from '../contract/intent.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { LineLog } from '../system/files/line-log.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { UseLock } from '../system/files/use-lock.ts'
import { Claims } from './claims.ts'
import type { Ledger, LedgerEnd } from './ledger.ts'
import { type IntentRecord, lineOf, type Note, outcomeOf } from './record.ts'
import { compactLedger } from './rewrite-ledger.ts'

/**
 * Writes the changes of a run to the ledger of a service: one line before a change is sent, flushed to disk, and one
 * with its outcome. Concurrent changes share a flush. A change whose outcome is missing has an unknown outcome.
 */
export class LedgerRun {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #id = `${randomBytes(4).toString('hex')}-${process.pid}`
  readonly #of: Pick<IntentRecord, 'command' | 'profile'>
  readonly #log: LineLog
  readonly #lock: UseLock | undefined
  #count = 0
  #claims: Claims | undefined

  /** @throws Failure `storage` if the ledger cannot be opened */
  constructor(
    ledger: Ledger,
    { service, ...of }: Pick<IntentRecord, 'command' | 'profile'> & { service: string },
    clock: Clock,
  ) {
    const { path } = ledger
    this.#ledger = ledger
    this.#clock = clock
    this.#of = of
    this.#log = new LineLog({ path, isShared: true, failureOf: this.#failureOf })
    try {
      makePrivateDirectory(dirname(path))
      this.#lock = new UseLock(path, 10_000)
      if (!this.#lock.hold('run')) throw new Error('another chatctl process rewrites it')
      if (!ledger.header) this.#log.append(lineOf({ ledger: 1, service }))
    } catch (cause) {
      this.#lock?.close()
      throw this.#failureOf(cause)
    }
  }

  readonly #failureOf = (cause: unknown) =>
    systemFailure(`Cannot write the ledger ${this.#ledger.path}`, cause)

  /**
   * Resolves when the change is on disk.
   * @param known where the ledger ended when the run has read which users were created (default: it has not)
   * @param onFlushFailure called if it may not be on disk; throws unless the change is sent nevertheless
   * @returns writes its outcome
   * @throws Failure `storage`; `conflict` if another run has begun to create the user since
   */
  async begin(
    change: Change,
    known?: LedgerEnd,
    onFlushFailure: (error: unknown) => void = (error) => {
      throw error
    },
  ): Promise<(outcome: RequestOutcome) => void> {
    const intent = intentOf(change)
    if (known && change.endpoint === 'createUser') await this.#claim(intent.email, known)
    const id = this.#nextId()
    // In this turn, because others must not write theirs before.
    this.#log.appendNow(lineOf({ ...intent, ...this.#of, id, at: isoNow(this.#clock) }))
    const end = (outcome: RequestOutcome) => this.#log.append(lineOf(outcomeOf(id, intent, outcome)))
    try {
      await this.#log.flush()
    } catch (cause) {
      try {
        onFlushFailure(cause)
      } catch (error) {
        // The intent may be in the file, but it is not sent.
        end({ outcome: 'refused' })
        throw error
      }
    }
    return end
  }

  async #claim(email: string | undefined, known: LedgerEnd): Promise<void> {
    if (email === undefined) return
    try {
      this.#claims ??= new Claims(this.#ledger, this.#id, known)
      await this.#claims.demand(email)
    } catch (error) {
      throw error instanceof Failure ? error : this.#failureOf(error)
    }
  }

  /** Resolves when it is on disk that the user has the email. @throws Failure `storage` */
  saw(email: string, user: string): Promise<void> {
    const { method, path: pattern } = endpoints.getUser
    const seen = { id: this.#nextId(), at: isoNow(this.#clock), method, fields: [] }
    const path = pattern.replace('{id}', encodeURIComponent(user))
    this.#log.append(lineOf({ email: email.toLowerCase(), user, ...seen, ...this.#of, path }))
    return this.#log.flush()
  }

  /** Resolves when the note is on disk. @throws Failure `storage` */
  note(note: Note): Promise<void> {
    this.#log.append(lineOf({ ...note, by: this.#id }))
    return this.#log.flush()
  }

  /** Writes what is left, and compacts a large ledger. @throws Failure `storage` */
  close(): void {
    try {
      this.#log.append(lineOf({ end: this.#id }))
      this.#log.close()
    } finally {
      this.#claims?.close()
      this.#lock?.close()
    }
    compactLedger(this.#ledger)
  }

  #nextId(): string {
    return `${this.#id}-${++this.#count}`
  }
}
