import type { Unsettled } from '../../bulk/results/report-rows.ts'
import type { RowResult } from '../../bulk/results/row-result.ts'
import type { Output } from '../output/output.ts'
import { describeUnknown, type Settle, type UnknownRow } from './describe-unknown.ts'

/** So many rows are told one by one: each that waits for somebody, and enough of the failed to see why. */
const most = { unknown: 1000, failed: 10 }

/** The rows that somebody has to hear of. */
export class ToldRows {
  readonly #settle: Settle | undefined
  readonly #unknown: UnknownRow[] = []
  readonly #failed: RowResult[] = []
  #counts = { unknown: 0, failed: 0 }

  /** @param settle absent where nothing is created */
  constructor(settle: Settle | undefined) {
    this.#settle = settle
  }

  addUnknown(result: RowResult, settling: Unsettled | undefined): void {
    if (this.#counts.unknown++ < most.unknown) this.#unknown.push({ ...result, settling })
  }

  addFailed(result: RowResult): void {
    if (this.#counts.failed++ < most.failed) this.#failed.push(result)
  }

  async tell(output: Output): Promise<void> {
    const { unknown, failed } = this.#counts
    if (failed > 0) await output.warn(this.#describeFailed(failed))
    if (unknown > 0) await output.warn(describeUnknown(this.#unknown, unknown, this.#settle))
  }

  #describeFailed(count: number): string {
    const lines = this.#failed.map(
      ({ line, email, id, error }) => `Line ${line} (${email || id}) failed: ${error}`,
    )
    if (count > lines.length) lines.push(`and ${count - lines.length} more; --results FILE lists them`)
    return lines.join('\n')
  }
}
