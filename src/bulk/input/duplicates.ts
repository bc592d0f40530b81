import type { UserRow } from '../rows/user-row.ts'
import type { Fingerprint } from './fingerprint.ts'
import { FingerprintTable } from './fingerprint-table.ts'

/** What no two rows may share. */
export const uniqueFields = ['email', 'id'] as const
export type UniqueField = (typeof uniqueFields)[number]

/** Texts that are held at the same time. */
const heldTexts = 50_000

/** The part of a text that counts: addresses in other letters of the same kind are one. */
function keyOf(field: UniqueField, text: string): string {
  return field === 'email' ? text.toLowerCase() : text
}

/** What a first reading sees of emails and ids: which of them may come twice. */
export class Sightings {
  readonly #fingerprint: Fingerprint
  readonly #once = new FingerprintTable()
  readonly #twice = new FingerprintTable()
  readonly #pair = new Uint32Array(2)

  constructor(fingerprint: Fingerprint) {
    this.#fingerprint = fingerprint
  }

  see(row: UserRow): void {
    for (const field of uniqueFields) {
      const text = row[field]
      if (text === undefined) continue
      const [high, low] = this.#take(field, keyOf(field, text))
      if (!this.#once.add(high, low)) this.#twice.add(high, low)
    }
  }

  /** Readings that are needed to decide: each holds the texts of a share of what may come twice. */
  get rounds(): number {
    return Math.ceil(this.#twice.size / heldTexts)
  }

  /** The round that decides on a text; undefined where it comes once. */
  roundOf(field: UniqueField, key: string): number | undefined {
    const [high, low] = this.#take(field, key)
    return this.#twice.has(high, low) ? low % this.rounds : undefined
  }

  /** Two zeros would be a free place of a table. */
  #take(field: UniqueField, key: string): readonly [number, number] {
    this.#fingerprint(key, uniqueFields.indexOf(field), this.#pair)
    const [high = 0, low = 0] = this.#pair
    return [high, high === 0 && low === 0 ? 1 : low]
  }
}

/** Decides, with the texts themselves, on those of one round. */
export class DuplicateRound {
  readonly #sightings: Sightings
  readonly #round: number
  readonly #lines: Record<UniqueField, Map<string, number>> = { email: new Map(), id: new Map() }

  constructor(sightings: Sightings, round: number) {
    this.#sightings = sightings
    this.#round = round
  }

  /** The line of the earlier row that has claimed that text. */
  firstLine(field: UniqueField, text: string): number | undefined {
    return this.#lines[field].get(keyOf(field, text))
  }

  /** Takes the email and the id of a row, which no later one may have. */
  claim(row: UserRow, line: number): void {
    for (const field of uniqueFields) {
      const text = row[field]
      const key = text === undefined ? undefined : keyOf(field, text)
      if (key === undefined || this.#sightings.roundOf(field, key) !== this.#round) continue
      this.#lines[field].set(ownCopy(key), line)
    }
  }
}

/** A piece of a text keeps the whole of it in memory. */
function ownCopy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
