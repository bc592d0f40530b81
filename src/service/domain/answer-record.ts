import type { Database } from '../store/tables.ts'
import type { Piece } from '../upstream/upstream.ts'
import type { Asked } from './chat.ts'
import { type Exchange, storeExchange, updateAnswer } from './contexts.ts'

/** How often, in ms, what has arrived is stored while more is coming. */
const storeEvery = 2_000

/** An answer that arrives in pieces, and what of it lies in the store. */
export class AnswerRecord {
  readonly exchange: Exchange
  readonly #db: Database
  #isStored = false
  /** Something was taken since the last write. */
  #isDue = false
  #storedAt = 0
  /** The last write: they go one after the other, so that no older one comes to lie on top. */
  #writing: Promise<void> = Promise.resolve()

  constructor(db: Database, exchange: Asked['exchange']) {
    this.#db = db
    const createdAt = new Date().toISOString()
    this.exchange = { ...exchange, answer: '', incomplete: true, finishReason: null, createdAt }
  }

  /** With the first piece the exchange is stored, marked incomplete until the last one was taken. */
  async take(piece: Piece): Promise<void> {
    this.exchange.model = piece.model
    if (piece.kind === 'delta') {
      this.exchange.answer += piece.text
    } else {
      this.exchange.incomplete = false
      this.exchange.finishReason = piece.reason
    }
    this.#isDue = true
    if (Date.now() - this.#storedAt >= storeEvery) await this.store()
  }

  /** Stores what was taken and is not stored yet. */
  store(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    if (!this.#isDue) return
    this.#isDue = false
    this.#storedAt = Date.now()
    try {
      if (this.#isStored) await updateAnswer(this.#db, this.exchange)
      else await storeExchange(this.#db, this.exchange)
      this.#isStored = true
    } catch (error) {
      // A database that is back a moment later gets it from the next attempt; of an exchange that was
      // never stored, and so refused, nothing is to be found.
      this.#isDue = this.#isStored
      throw error
    }
  }
}
