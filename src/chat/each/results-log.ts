import { existsSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { LineLog } from '../../system/files/line-log.ts'

export type RowStatus = 'done' | 'not_whole' | 'failed' | 'unknown' | 'skipped'

/** The outcome of a row. `index`: from 0, as in `InputRow`. */
interface ResultLine {
  index: number
  line: number
  status: RowStatus
  [field: string]: unknown
}

/** The results file of a batch. A run appends lines, and the last line of a row applies. */
export class ResultsLog {
  readonly path: string
  readonly #log: LineLog
  readonly #statuses = new Map<number, RowStatus>()

  /**
   * @param isNew whether existing lines are removed
   * @throws Failure `refused` for a file with other lines; `storage`
   */
  constructor(path: string, isNew: boolean) {
    const failureOf = (cause: unknown) => systemFailure(`Cannot write the results to ${path}`, cause)
    this.path = path
    this.#log = new LineLog({ path, failureOf })
    if (!existsSync(path)) return
    this.#log.restore((text) => {
      if (isNew) return
      const { index, status } = Object(tryParse(text)) as ResultLine
      if (typeof index !== 'number')
        throw new Failure('refused', `${path} has a line that is not a result of this batch`)
      this.#statuses.set(index, status)
    })
    if (isNew) this.#log.truncate(0)
  }

  rowStatus(index: number): RowStatus | undefined {
    return this.#statuses.get(index)
  }

  /** Resolves when the line is on disk. @throws Failure `storage`; a later call may still write the line */
  async add(result: ResultLine): Promise<void> {
    this.#log.append(JSON.stringify(result))
    await this.#log.flush()
    this.#statuses.set(result.index, result.status)
  }

  /** @throws Failure `storage` */
  close(): void {
    this.#log.close()
  }
}
