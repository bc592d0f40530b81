import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import { readRows } from './input/read-rows.ts'
import { isUnresolved, type RowStates, remainingSteps } from './journal/row-states.ts'
import type { RowKind, Step } from './rows/imported-user.ts'
import { canResolve } from './send/send-row.ts'
import type { UnknownRowResolutions } from './unknown-row-resolutions.ts'

/** The requests that a run will send. */
export interface PlannedWork {
  rows: number
  /** Rows that earlier runs have created or updated. */
  done: number
  /** Rows whose outcome is unknown. Nothing is sent for them. */
  unknown: number
  /** Numbers of requests by their kind. */
  steps: Record<Step, number>
  requests: number
}

/** Counts the remaining requests. Reads the input only if an earlier run has sent some of it. */
export async function planWork(
  file: Input,
  kind: RowKind,
  {
    checked,
    states,
    resolutions,
  }: { checked: CheckedInput; states: RowStates; resolutions: UnknownRowResolutions },
): Promise<PlannedWork> {
  if (states.isUntouched)
    return plannedWorkOf({ rows: checked.rows, done: 0, unknown: 0, steps: { ...checked.steps } })
  const steps = { create: 0, update: 0, assign: 0 }
  const counted = { rows: checked.rows, done: 0, unknown: 0, steps }
  for await (const batch of readRows(file, kind)) {
    for (const input of batch) {
      const { index, row } = input
      if (!row || checked.faulty.has(index)) continue
      const state = states.of(index)
      const resolution = isUnresolved(state) ? resolutions.of(input) : undefined
      if (isUnresolved(state) && !canResolve(resolution, state)) {
        counted.unknown++
        continue
      }
      if (resolution?.as === 'skip') continue
      const remaining = remainingSteps(row, state)
      if (resolution?.as === 'created') remaining.shift()
      if (remaining.length === 0) counted.done++
      for (const step of remaining) steps[step]++
    }
  }
  return plannedWorkOf(counted)
}

function plannedWorkOf(counted: Omit<PlannedWork, 'requests'>): PlannedWork {
  const { create, update, assign } = counted.steps
  return { ...counted, requests: create + update + assign }
}
