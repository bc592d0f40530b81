import type { Database } from '../../store/tables.ts'
import type { Piece } from '../../upstream/upstream.ts'
import type { Asked } from './chat.ts'
import { type Exchange, storeExchange, updateAnswer } from './contexts.ts'
import { StorableStream } from './storable-text.ts'

/** How often, in ms, what has arrived is stored while more is coming. */
const storeEvery = 2_000

/** An answer that arrives in pieces, and what of it lies in the store. */
export class AnswerRecord {
  readonly exchange: Exchange
  readonly #db: Database
  readonly #text = new StorableStream()
  #isStored = false
  /** Something was taken since the last write. */
  #isDue = false
  #storedAt = 0
  /** The last write: they go one after the other, so that no older one comes to lie on top. */
  #writing: Promise<void> = Promise.resolve()
  /** A write that nobody waits for. */
  #meanwhile: Promise<void> | undefined

  constructor(db: Database, exchange: Asked['exchange']) {
    this.#db = db
    const createdAt = new Date().toISOString()
    this.exchange = { ...exchange, answer: '', incomplete: true, finishReason: null, createdAt }
  }

  /**
   * With the first piece the exchange is stored, marked incomplete until the last one was taken.
   * A database that is away or slow after that neither ends an answer nor holds it up: what could
   * not be stored is tried again.
   * @returns the text that the piece adds to the answer
   */
  async take(piece: Piece): Promise<string> {
    this.exchange.model = piece.model
    const text = piece.kind === 'delta' ? this.#text.take(piece.text) : this.#text.end()
    this.exchange.answer += text
    if (piece.kind === 'finish') {
      this.exchange.incomplete = false
      this.exchange.finishReason = piece.reason
    }
    this.#isDue = true
    if (!this.#isStored) await this.store()
    else if (Date.now() - this.#storedAt >= storeEvery) this.#storeMeanwhile()
    return text
  }

  /** Stores what was taken and is not stored yet. */
  store(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  #storeMeanwhile(): void {
    this.#meanwhile ??= this.store()
      .catch(() => {})
      .finally(() => {
        this.#meanwhile = undefined
      })
  }

  async #write(): Promise<void> {
    if (!this.#isDue) return
    this.#isDue = false
    try {
      if (this.#isStored) await updateAnswer(this.#db, this.exchange)
      else await storeExchange(this.#db, this.exchange)
      this.#isStored = true
    } catch (error) {
      // An exchange that may lie there all the same is not stored twice.
      this.#isDue = this.#isStored
      throw error
    } finally {
      this.#storedAt = Date.now()
    }
  }
}
