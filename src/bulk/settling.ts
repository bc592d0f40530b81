import { Failure } from '../failure.ts'
import type { Input } from './input/input.ts'
import { readRows } from './input/read-rows.ts'
import { isUnsettled, type RowStates } from './journal/row-states.ts'
import type { RowKind } from './rows/user-row.ts'
import type { Settlement } from './send/send-row.ts'

/** What was said of rows whose users may or may not have been created. */
export interface SettlingOptions {
  settlement: Settlement | undefined
  /** Only of the row on this line of the input. */
  line: number | undefined
}

export interface Settling {
  /** What was said of this row, undefined for nothing. */
  of(index: number, line: number): Settlement | undefined
}

/**
 * @throws Failure `usage` where no such row is unknown, or an id was given for several
 */
export async function readSettling(
  { settlement, line }: SettlingOptions,
  { input, kind, states }: { input: Input; kind: RowKind; states: RowStates },
): Promise<Settling> {
  if (settlement === undefined) return { of: () => undefined }
  const lines = await unsettledLines(input, kind, states)
  if (line !== undefined && !lines.includes(line)) {
    const which = lines.length === 0 ? 'none is' : `line ${lines.slice(0, 20).join(', ')} is`
    throw new Failure('usage', `Line ${line} of ${input.name} is not unknown: ${which}`)
  }
  if (settlement.as === 'created' && line === undefined && lines.length !== 1) {
    const words = lines.length === 0 ? 'No row is' : `${lines.length} rows are`
    throw new Failure('usage', `${words} unknown, and --id names the user of one row`, {
      hint:
        lines.length === 0
          ? 'Run it without --on-unknown.'
          : `Say which with --line: ${lines.slice(0, 20).join(', ')}`,
    })
  }
  return { of: (_, at) => (line === undefined || line === at ? settlement : undefined) }
}

async function unsettledLines(input: Input, kind: RowKind, states: RowStates): Promise<number[]> {
  const lines: number[] = []
  if (states.unsettled === 0) return lines
  for await (const batch of readRows(input, kind)) {
    for (const { index, line } of batch) if (isUnsettled(states.of(index))) lines.push(line)
  }
  return lines
}
