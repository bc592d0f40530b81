import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import { readRows } from './input/read-rows.ts'
import { isUnsettled, type RowStates, remainingSteps } from './journal/row-states.ts'
import type { RowKind, Step } from './rows/user-row.ts'
import { maySettle } from './send/send-row.ts'
import type { UnknownRowDecisions } from './unknown-row-decisions.ts'

/** What a run is going to send. */
export interface PlannedWork {
  rows: number
  /** Rows that earlier runs have created or updated. */
  done: number
  /** Rows whose outcome is unknown, and of which nothing is sent. */
  unknown: number
  /** Requests by what they do. */
  steps: Record<Step, number>
  requests: number
}

/** Counts what is left to be sent; what was never begun is known from the check. */
export async function planWork(
  file: Input,
  kind: RowKind,
  {
    checked,
    states,
    decisions,
  }: { checked: CheckedInput; states: RowStates; decisions: UnknownRowDecisions },
): Promise<PlannedWork> {
  if (states.isUntouched)
    return outlineOf({ rows: checked.rows, done: 0, unknown: 0, steps: { ...checked.steps } })
  const steps = { create: 0, update: 0, assign: 0 }
  const counted = { rows: checked.rows, done: 0, unknown: 0, steps }
  for await (const batch of readRows(file, kind)) {
    for (const input of batch) {
      const { index, row } = input
      if (!row || checked.faulty.has(index)) continue
      const state = states.of(index)
      const settlement = isUnsettled(state) ? decisions.of(input) : undefined
      if (isUnsettled(state) && !maySettle(settlement, state)) {
        counted.unknown++
        continue
      }
      if (settlement?.as === 'skip') continue
      const remaining = remainingSteps(row, state)
      if (settlement?.as === 'created') remaining.shift()
      if (remaining.length === 0) counted.done++
      for (const step of remaining) steps[step]++
    }
  }
  return outlineOf(counted)
}

function outlineOf(counted: Omit<PlannedWork, 'requests'>): PlannedWork {
  const { create, update, assign } = counted.steps
  return { ...counted, requests: create + update + assign }
}
