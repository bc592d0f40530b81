import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { endpoints } from '../contract/endpoints.ts'
import { Failure, type RequestOutcome } from '../contract/failure.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { LineLog } from '../system/files/line-log.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { Claims } from './claims.ts'
import type { Ledger, LedgerEnd } from './ledger.ts'
import { type Change, type CommandRecord, intentOf, lineOf, type Note, outcomeOf } from './record.ts'
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
  #claims: Claims | undefined
  /** Changes that were rate limited, by what identifies them: the same one may be sent again. */
  readonly #limited = new Map<string, string>()

  /** @throws Failure `storage` if the ledger cannot be opened */
  constructor(ledger: Ledger, run: Pick<CommandRecord, 'command' | 'profile' | 'service'>, clock: Clock) {
    const { path } = ledger
    this.#ledger = ledger
    this.#clock = clock
    this.#log = new LineLog({ path, isShared: true, failureOf: this.#failureOf })
    try {
      makePrivateDirectory(dirname(path))
      this.#unlock = lockLedger(`${path}.lock`, 'run')
      if (!this.#unlock) throw new Error('another chatctl process rewrites it')
      this.#log.append(lineOf({ run: this.#id, v: 1, at: isoNow(clock), ...run, pid: process.pid }))
    } catch (cause) {
      this.#unlock?.()
      throw this.#failureOf(cause)
    }
  }

  readonly #failureOf = (cause: unknown) =>
    systemFailure(`Cannot write the ledger ${this.#ledger.path}`, cause)

  /**
   * Resolves when the change is on disk.
   * @param known where the ledger ended when the run has read which users were created (default: it has not)
   * @returns writes its outcome
   * @throws Failure `storage`; `conflict` if another run has begun to create the user since
   */
  async begin(change: Change, known?: LedgerEnd): Promise<(outcome: RequestOutcome) => void> {
    const intent = intentOf(change)
    const key = () => JSON.stringify(intent)
    const repeated = this.#limited.size === 0 ? undefined : this.#limited.get(key())
    const id = repeated ?? `${this.#id}-${++this.#count}`
    if (repeated !== undefined) this.#limited.delete(key())
    if (known && change.endpoint === 'createUser') await this.#claim(intent.email, known)
    // In this turn, because others must not write theirs before.
    this.#log.appendNow(
      lineOf(
        repeated === undefined
          ? { ...intent, id, at: isoNow(this.#clock) }
          : outcomeOf(id, intent, { outcome: 'unknown' }),
      ),
    )
    this.#open.add(id)
    const end = (outcome: RequestOutcome) => {
      this.#open.delete(id)
      this.#log.append(lineOf(outcomeOf(id, intent, outcome)))
      if (outcome.status === 429 && this.#limited.size < maxLimited) this.#limited.set(key(), id)
    }
    try {
      await this.#log.flush()
    } catch (error) {
      // The intent may be in the file, but it is not sent.
      end({ outcome: 'refused' })
      throw error
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
    const id = `${this.#id}-${++this.#count}`
    const { method, path } = endpoints.getUser
    const seen = {
      id,
      at: isoNow(this.#clock),
      method,
      path: path.replace('{id}', encodeURIComponent(user)),
      fields: [],
    }
    this.#log.append(lineOf({ email: email.toLowerCase(), user, ...seen }))
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
      this.#log.append(lineOf({ end: this.#id, open: [...this.#open] }))
      this.#log.close()
    } finally {
      this.#claims?.close()
      this.#unlock?.()
    }
    compactLedger(this.#ledger)
  }
}
