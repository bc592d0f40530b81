import { DocumentFile } from '../../system/document-file.ts'
import { ResultsWriter, type WrittenResult } from './results-file.ts'
import { RowList } from './row-list-file.ts'

/** Rows that are held before they are written. */
const heldRows = 1000

/** The rows whose outcome is unknown, as a file of results. It is needed where not all of them are told one by one. */
export class UnknownRows extends RowList {
  override isNeeded = false
  readonly #path: string
  #held: WrittenResult[] = []
  #writer: ResultsWriter | undefined

  constructor(path: string) {
    super()
    this.#path = path
  }

  async add(result: WrittenResult, isTold: boolean): Promise<void> {
    this.isNeeded ||= !isTold
    if (!this.trouble) this.#held.push(result)
    if (this.#held.length >= heldRows) await this.guard(() => this.#write())
  }

  override async finish(): Promise<void> {
    await this.guard(async () => {
      await this.#write()
      await this.#writer?.finish()
    })
  }

  override async discard(): Promise<void> {
    this.#held = []
    await this.#writer?.discard()
  }

  async #write(): Promise<void> {
    this.#writer ??= new ResultsWriter(new DocumentFile(this.#path), { format: 'csv', hasPasswords: false })
    await this.#writer.write(this.#held)
    this.#held = []
  }
}
