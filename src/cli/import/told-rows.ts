import type { Report, Unsettled } from '../../bulk/results/report-rows.ts'
import type { RowResult } from '../../bulk/results/row-result.ts'
import type { Output } from '../output/output.ts'
import { describeUnknown, type Settle, type UnknownRow } from './describe-unknown.ts'

/** The rows that somebody has to hear of. */
export class ToldRows {
  readonly #settle: Settle | undefined
  readonly #unknown: UnknownRow[] = []
  readonly #failed: RowResult[] = []

  /** @param settle absent where nothing is created */
  constructor(settle: Settle | undefined) {
    this.#settle = settle
  }

  addUnknown(result: RowResult, settling: Unsettled | undefined): void {
    this.#unknown.push({ ...result, settling })
  }

  addFailed(result: RowResult): void {
    this.#failed.push(result)
  }

  async tell(output: Output, { counts, unknownRows }: Report): Promise<void> {
    if (counts.failed > 0) await output.warn(this.#describeFailed(counts.failed))
    if (counts.unknown > 0) {
      await output.warn(describeUnknown(this.#unknown, counts.unknown, this.#settle, unknownRows))
    }
  }

  #describeFailed(count: number): string {
    const lines = this.#failed.map(
      ({ line, email, id, error }) => `Line ${line} (${email || id}) failed: ${error}`,
    )
    if (count > lines.length) lines.push(`and ${count - lines.length} more; --results FILE lists them`)
    return lines.join('\n')
  }
}
