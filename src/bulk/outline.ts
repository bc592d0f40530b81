import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import { readRows } from './input/read-rows.ts'
import type { Journal } from './journal/journal.ts'
import { isUnsettled } from './journal/row-states.ts'
import { remainingSteps } from './rows/remaining-steps.ts'
import type { RowKind, Step } from './rows/user-row.ts'
import type { Settling } from './settling.ts'

/** What a run is going to send. */
export interface Outline {
  rows: number
  /** Rows of which nothing is left to be sent, by earlier runs. */
  done: number
  /** Requests by what they do. */
  steps: Record<Step, number>
  requests: number
}

/** Counts what is left to be sent; what was never begun is known from the check. */
export async function outlineRun(
  input: Input,
  kind: RowKind,
  { checked, journal, settling }: { checked: CheckedInput; journal: Journal; settling: Settling },
): Promise<Outline> {
  if (journal.rows.isUntouched) return outlineOf(checked.rows, 0, { ...checked.steps })
  const steps = { create: 0, update: 0, assign: 0 }
  let done = 0
  for await (const batch of readRows(input, kind)) {
    for (const { index, line, row } of batch) {
      if (!row || checked.faulty.has(index)) continue
      const isLeft = isUnsettled(journal.rows.of(index)) && settling.of(index, line) === undefined
      const remaining = isLeft ? [] : remainingSteps(row, journal, index)
      if (remaining.length === 0) done++
      for (const step of remaining) steps[step]++
    }
  }
  return outlineOf(checked.rows, done, steps)
}

function outlineOf(rows: number, done: number, steps: Record<Step, number>): Outline {
  return { rows, done, steps, requests: steps.create + steps.update + steps.assign }
}
