import { DocumentFile } from '../../system/document-file.ts'
import { ResultsWriter, type WrittenResult } from './results-file.ts'
import { RowList } from './row-list-file.ts'

/** Size of the buffer in rows. */
const bufferSize = 1000

/** The rows whose outcome is unknown, as a results file. Needed only if not all of them were listed in a warning. */
export class UnknownRows extends RowList {
  override isNeeded = false
  readonly #path: string
  #buffer: WrittenResult[] = []
  #writer: ResultsWriter | undefined

  constructor(path: string) {
    super()
    this.#path = path
  }

  async add(result: WrittenResult, isListed: boolean): Promise<void> {
    this.isNeeded ||= !isListed
    if (!this.failure) this.#buffer.push(result)
    if (this.#buffer.length >= bufferSize) await this.guard(() => this.#write())
  }

  override async finish(): Promise<void> {
    await this.guard(async () => {
      await this.#write()
      await this.#writer?.finish()
    })
  }

  override async discard(): Promise<void> {
    this.#buffer = []
    await this.#writer?.discard()
  }

  async #write(): Promise<void> {
    this.#writer ??= new ResultsWriter(new DocumentFile(this.#path), { format: 'csv', hasPasswords: false })
    await this.#writer.write(this.#buffer)
    this.#buffer = []
  }
}
