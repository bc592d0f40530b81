import { Failure } from '../../contract/failure.ts'
import { DocumentFile } from '../../system/document-file.ts'
import { ResultsWriter, type WrittenResult } from './results-file.ts'
import type { RowList } from './row-list-file.ts'

/** Rows that are held before they are written. */
const heldRows = 1000

/** The rows whose outcome is unknown, as a file of results. It is needed where not all of them are told one by one. */
export class UnknownRows implements RowList {
  isNeeded = false
  trouble: Failure | undefined
  readonly #path: string
  #held: WrittenResult[] = []
  #writer: ResultsWriter | undefined

  constructor(path: string) {
    this.#path = path
  }

  async add(result: WrittenResult, isTold: boolean): Promise<void> {
    this.isNeeded ||= !isTold
    if (!this.trouble) this.#held.push(result)
    if (this.#held.length >= heldRows) await this.#guard(() => this.#write())
  }

  async finish(): Promise<void> {
    await this.#guard(async () => {
      await this.#write()
      await this.#writer?.finish()
    })
  }

  async discard(): Promise<void> {
    this.#held = []
    await this.#writer?.discard()
  }

  async #write(): Promise<void> {
    this.#writer ??= new ResultsWriter(new DocumentFile(this.#path), { format: 'csv', hasPasswords: false })
    await this.#writer.write(this.#held)
    this.#held = []
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
