import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { linesWith } from '../system/files/shared-lines.ts'
import { UseLock } from '../system/files/use-lock.ts'
import type { Ledger, LedgerEnd } from './ledger.ts'
import { readRecord } from './record.ts'

/** Number of attempts to hold the lock, one for each ms. */
const maxAttempts = 10_000

/** Keeps two runs from creating the same user: what others have appended is read before each intent, under a lock. */
export class Claims {
  readonly #ledger: Ledger
  readonly #known: LedgerEnd
  readonly #run: string
  readonly #lock: UseLock
  /** Offset of the first line that was not read. */
  #next: number
  /** The creations that others have begun, and that were not refused: their IDs, by email. */
  readonly #others = new Map<string, Set<string>>()
  #isHeld = false

  /**
   * @param run ID of the own run
   * @param known where the ledger ended when the run has read it
   */
  constructor(ledger: Ledger, run: string, known: LedgerEnd) {
    this.#ledger = ledger
    this.#known = known
    this.#run = run
    this.#next = known.size
    this.#lock = new UseLock(ledger.path)
  }

  /**
   * Resolves in a turn of the event loop in which no other process writes intents to create users. The caller writes
   * its own in the same turn.
   * @throws Failure `conflict` if another run has begun to create a user with this email, or does not release the lock
   */
  async demand(email: string): Promise<void> {
    const { path } = this.#ledger
    for (let attempt = 0; !this.#hold(); attempt++) {
      if (attempt === maxAttempts) throw conflict(`Another command does not release the ledger ${path}`)
      await new Promise((done) => setTimeout(done, 1))
    }
    const { file } = this.#known
    if (file !== undefined && file !== this.#ledger.inode)
      throw conflict(`Another command has rewritten the ledger ${path}`)
    if (!this.#others.get(email)?.size) return
    throw new Failure('conflict', `Another command on this machine has begun to create ${email}`, {
      code: 'claimed',
      hint: 'When it has ended, run this command again: it continues with what the other one has done.',
    })
  }

  close(): void {
    this.#lock.close()
  }

  /** Until the end of this turn. @returns false if another process holds the lock */
  #hold(): boolean {
    if (this.#isHeld) return true
    if (!this.#lock.hold('claim')) return false
    this.#isHeld = true
    setImmediate(() => {
      this.#isHeld = false
      this.#lock.release()
    })
    for (const { text, end } of linesWith(this.#ledger.path, ['"email":"'], this.#next)) {
      this.#next = end
      const record = text.includes(`:"${this.#run}-`) ? undefined : readRecord(text)
      if (!record || !('email' in record) || record.email === undefined) continue
      const ids = this.#others.get(record.email) ?? new Set()
      this.#others.set(record.email, ids)
      if ('id' in record && isRequestTo(endpoints.createUser, record)) ids.add(record.id)
      else if ('of' in record && record.did === 'refused') ids.delete(record.of)
      // It was in progress when the ledger was read.
      else if ('of' in record && record.by !== this.#run) ids.add(record.of)
    }
    return true
  }
}

function conflict(words: string): Failure {
  return new Failure('conflict', words, { hint: 'Run this command again.' })
}
