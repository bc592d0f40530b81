import { Failure } from '../../contract/failure.ts'
import { DocumentFile } from '../../system/document-file.ts'
import type { InputForm } from '../input/input-form.ts'
import type { InputRow } from '../input/input-row.ts'
import { failedRowText } from './failed-row-text.ts'
import type { RowList } from './row-list-file.ts'

/** UTF-16 units that are held before they are written. */
const heldText = 64 * 1024

/**
 * The rows that failed or have faults, in the format of the input, so that they can be fixed and
 * imported. If they cannot be written, the import still reports the others: see `trouble`.
 */
export class FailedRows implements RowList {
  count = 0
  /** Why there is no file; `storage`. */
  trouble: Failure | undefined
  readonly #path: string
  readonly #form: InputForm
  #file: DocumentFile | undefined
  #held = ''

  /** @param path is replaced when it is whole; without a row it is left as it is */
  constructor(path: string, form: InputForm) {
    this.#path = path
    this.#form = form
  }

  get isNeeded(): boolean {
    return this.count > 0
  }

  /**
   * @param id of the user that was made of the row before a later step failed: the row has that now,
   *   and no password
   */
  async add(row: InputRow, id: string | undefined): Promise<void> {
    if (!this.trouble) this.#held += failedRowText(row, id, this.#form, this.count === 0)
    this.count++
    if (this.#held.length > heldText) await this.#guard(() => this.#write())
  }

  /** Puts the file in its place. */
  async finish(): Promise<void> {
    if (this.count === 0) return
    if (this.#form === 'json') this.#held += '\n]\n'
    await this.#guard(async () => {
      await this.#write()
      await this.#file?.finish()
    })
  }

  /** Leaves what was there before. */
  async discard(): Promise<void> {
    this.#held = ''
    await this.#file?.discard()
  }

  async #write(): Promise<void> {
    this.#file ??= new DocumentFile(this.#path)
    await this.#file.write(Buffer.from(this.#held))
    this.#held = ''
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    if (this.trouble) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.trouble = error
      await this.discard()
    }
  }
}
