import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../../failure.ts'
import { systemWords } from '../../system-words.ts'
import type { InputForm } from '../input/input.ts'
import type { InputRow } from '../input/read-rows.ts'
import { failedRowText } from './failed-row-text.ts'

/** UTF-16 units that are held before they are written. */
const heldText = 64 * 1024

/**
 * The rows that failed, in the form of the input, ready to be given again. What cannot be written is
 * no reason to say nothing of the others: see `trouble`.
 */
export class FailedRows {
  count = 0
  /** Why there is no file; `storage`. */
  trouble: Failure | undefined
  readonly #path: string
  readonly #form: InputForm
  #file: number | undefined
  #held = ''

  /** @param path is replaced when it is whole; without a row it is left as it is */
  constructor(path: string, form: InputForm) {
    this.#path = path
    this.#form = form
  }

  /**
   * @param id of the user that was made of the row before a later step failed: the row has that now,
   *   and no password
   */
  add(row: InputRow, id: string | undefined): void {
    if (!this.trouble) this.#held += failedRowText(row, id, this.#form, this.count === 0)
    this.count++
    if (this.#held.length > heldText) this.#guard(() => this.#write())
  }

  /** Puts the file in its place. */
  async finish(): Promise<void> {
    if (this.count === 0) return
    if (this.#form === 'json') this.#held += '\n]\n'
    this.#guard(() => {
      const file = this.#write()
      fsyncSync(file)
      closeSync(file)
      this.#file = undefined
      renameSync(this.#aside(), this.#path)
    })
  }

  /** Leaves what was there before. */
  discard(): void {
    this.#held = ''
    if (this.#file === undefined) return
    closeSync(this.#file)
    this.#file = undefined
    rmSync(this.#aside(), { force: true })
  }

  #write(): number {
    if (this.#file === undefined) {
      rmSync(this.#aside(), { force: true })
      this.#file = openSync(this.#aside(), 'wx', 0o600)
    }
    const bytes = Buffer.from(this.#held)
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
    this.#held = ''
    return this.#file
  }

  #aside(): string {
    return join(dirname(this.#path), `.${basename(this.#path)}.${process.pid}.part`)
  }

  #guard(work: () => void): void {
    if (this.trouble) return
    try {
      work()
    } catch (cause) {
      const words = `${this.#path} cannot be written: ${systemWords(cause)}`
      this.trouble = new Failure('storage', words, { cause })
      this.discard()
    }
  }
}
