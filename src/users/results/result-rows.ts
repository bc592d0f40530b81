import type { InputRow } from '../input/input-row.ts'
import type { PasswordReader } from './password-reader.ts'
import { ResultsWriter, type WrittenResult } from './results-file.ts'
import { RowList } from './row-list-file.ts'

/** Size of the buffer in rows. */
const bufferSize = 1000

type Passwords = Pick<PasswordReader, 'of' | 'end' | 'close'>

/** A results file: of all rows, or of those whose outcome is unknown, if not all of these were listed in a warning. */
export class ResultRows extends RowList {
  override isNeeded = false
  readonly #path: string
  readonly #passwords: Passwords | undefined
  #buffer: WrittenResult[] = []
  #writer: ResultsWriter | undefined

  /** @param passwords the generated passwords, which the file has too */
  constructor(path: string, passwords?: Passwords) {
    super()
    this.#path = path
    this.#passwords = passwords
  }

  async add(row: InputRow, result: WrittenResult): Promise<void> {
    await this.guard(async () => {
      const password = await this.#passwords?.of(row)
      this.#buffer.push(password === undefined ? result : { ...result, password })
      if (this.#buffer.length >= bufferSize) await this.#write()
    })
  }

  override async finish(): Promise<void> {
    await this.guard(async () => {
      await this.#passwords?.end()
      await this.#write()
      await this.#writer?.finish()
    })
    await this.#passwords?.close()
  }

  override async discard(): Promise<void> {
    this.#buffer = []
    await this.#writer?.discard()
    await this.#passwords?.close()
  }

  async #write(): Promise<void> {
    this.#writer ??= new ResultsWriter(this.#path, this.#passwords !== undefined)
    await this.#writer.write(this.#buffer)
    this.#buffer = []
  }
}
