import { existsSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import { LineLog } from '../../system/files/line-log.ts'

export type RowStatus = 'done' | 'failed' | 'unknown' | 'skipped'

/** The outcome of a row. `index`: from 0, as in `InputRow`. */
interface ResultLine {
  index: number
  line: number
  status: RowStatus
  [field: string]: unknown
}

/** The offset and length of a line, in bytes. */
type Place = { at: number; size: number; status: RowStatus }

/**
 * The results file of a batch. A run appends lines, and the last line of a row applies. In the end, each row has one
 * line, in the order of the input. The lines are not held in memory.
 */
export class ResultsLog {
  readonly #path: string
  readonly #log: LineLog
  readonly #places = new Map<number, Place>()
  /** The highest index so far. */
  #last = -1
  /** Whether each row has one line, and they are in order. */
  #isTidy = true
  #isBroken = false

  /**
   * @param isNew whether existing lines are removed
   * @throws Failure `refused` for a file with other lines; `storage`
   */
  constructor(path: string, isNew: boolean) {
    const failureOf = (cause: unknown) =>
      new Failure('storage', `Cannot write the results to ${path}: ${describeSystemError(cause)}`, { cause })
    this.#path = path
    this.#log = new LineLog({ path, failureOf })
    if (!existsSync(path)) return
    this.#log.restore((text, at) => {
      const { index, status } = Object(tryParse(text)) as ResultLine
      if (isNew) return
      if (typeof index !== 'number')
        throw new Failure('refused', `${path} has a line that is not a result of this batch`)
      this.#place(index, { at, size: Buffer.byteLength(text), status })
    })
    if (isNew) this.#log.truncate(0)
  }

  statusOf(index: number): RowStatus | undefined {
    return this.#places.get(index)?.status
  }

  /** Resolves when the line is on disk. @throws Failure `storage`; a later call may still write the line */
  async add(result: ResultLine): Promise<void> {
    const text = JSON.stringify(result)
    const place = { at: this.#log.size, size: Buffer.byteLength(text), status: result.status }
    this.#log.append(text)
    await this.#log.flush().catch((error: unknown) => {
      this.#isBroken = true
      throw error
    })
    this.#place(result.index, place)
  }

  /** Sorts the lines, and closes the file. @throws Failure `storage` */
  async finish(): Promise<void> {
    if (this.#isTidy || this.#isBroken) return this.#log.close()
    const file = new DocumentFile(this.#path)
    try {
      for (const [, { at, size }] of [...this.#places].sort(([one], [other]) => one - other)) {
        const line = Buffer.alloc(size + 1)
        this.#log.read(at, line)
        await file.write(line)
      }
      this.#log.close()
      await file.finish()
    } catch (error) {
      await file.discard()
      throw error
    }
  }

  #place(index: number, place: Place): void {
    if (index <= this.#last) this.#isTidy = false
    else this.#last = index
    this.#places.set(index, place)
  }
}
