import { endpoints } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { linesWith } from '../system/files/shared-lines.ts'
import { isBusy, openDatabase } from '../system/sqlite.ts'
import { isRequestTo } from './knowledge.ts'
import type { Ledger, LedgerEnd } from './ledger.ts'
import { readRecord } from './record.ts'

/** Number of attempts to hold the lock, one for each ms. */
const maxAttempts = 10_000

/** Keeps two runs from creating the same user: what others have appended is read before each intent, under a lock. */
export class Claims {
  readonly #ledger: Ledger
  readonly #known: LedgerEnd
  readonly #run: string
  readonly #database: ReturnType<typeof openDatabase>
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
    this.#database = openDatabase(`${ledger.path}.lock`, { timeout: 0 })
    this.#database.exec('PRAGMA journal_mode = memory')
  }

  /**
   * Resolves in a turn of the event loop in which no other process writes intents to create users. The caller writes
   * its own in the same turn.
   * @throws Failure `conflict` if another run has begun to create a user with this email
   */
  async demand(email: string): Promise<void> {
    for (let attempt = 0; !this.#hold(attempt); attempt++) await new Promise((done) => setTimeout(done, 1))
    const { file } = this.#known
    if (file !== undefined && file !== this.#ledger.end.file)
      throw new Failure('conflict', `Another command has rewritten the ledger ${this.#ledger.path}`, {
        hint: 'Run this command again.',
      })
    if (!this.#others.get(email)?.size) return
    throw new Failure('conflict', `Another command on this machine has begun to create ${email}`, {
      code: 'claimed',
      hint: 'When it has ended, run this command again: it continues with what the other one has done.',
    })
  }

  close(): void {
    this.#database.close()
  }

  /** @returns false if another process holds the lock */
  #hold(attempt: number): boolean {
    if (this.#isHeld) return true
    try {
      this.#database.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (isBusy(error) && attempt < maxAttempts) return false
      throw error
    }
    this.#isHeld = true
    setImmediate(() => this.#release())
    this.#read()
    return true
  }

  #release(): void {
    this.#isHeld = false
    if (this.#database.isOpen) this.#database.exec('ROLLBACK')
  }

  #read(): void {
    for (const { text, at } of linesWith(this.#ledger.path, ['"email":"'], this.#next)) {
      this.#next = at + Buffer.byteLength(text) + 1
      const record = text.includes(`:"${this.#run}-`) ? undefined : readRecord(text)
      if (!record || !('email' in record) || record.email === undefined) continue
      const ids = this.#others.get(record.email) ?? new Set()
      this.#others.set(record.email, ids)
      if ('id' in record && isRequestTo(endpoints.createUser, record)) ids.add(record.id)
      else if ('of' in record && record.did === 'refused') ids.delete(record.of)
      // After a 429, a create is sent again here.
      else if ('of' in record && record.did === 'unknown' && record.user === undefined) ids.add(record.of)
    }
  }
}
