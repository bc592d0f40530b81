import { type Step, stepsOf, type UserRow } from '../rows/user-row.ts'
import type { Outcome, StepLine } from './journal-line.ts'

const steps: readonly Step[] = ['create', 'update', 'assign']
const phases = ['intended', 'took', 'refused', 'unknown', 'unsent', 'nameless', 'skipped'] as const

/** How far a row has come: its last step, and what became of that. */
export interface RowState {
  step: Step
  /** `intended`: sent, or about to be, and nothing was heard of it. */
  phase: Outcome | 'intended'
}

/** Of a state: the row began with a create. */
const createdFlag = 0x80

/** The state of every row, in nine bytes each: a million rows are no reason for much memory. */
export class RowStates {
  readonly #states: Uint8Array
  /** Byte of the journal where a row's last line begins. */
  readonly #offsets: Float64Array

  constructor(rows: number) {
    this.#states = new Uint8Array(rows)
    this.#offsets = new Float64Array(rows)
  }

  /** @param offset of the line in the journal */
  take({ row, step, did }: StepLine, offset: number): void {
    if (row >= this.#states.length) return
    const flag = step === 'create' ? createdFlag : (this.#states[row] ?? 0) & createdFlag
    this.#states[row] = flag | (1 + phases.indexOf(did ?? 'intended') * steps.length + steps.indexOf(step))
    this.#offsets[row] = offset
  }

  /** Every row was answered: updates and assignments may be sent again, creates may not. */
  forgetUpdates(): void {
    for (let row = 0; row < this.#states.length; row++) {
      if ((this.#states[row] ?? 0) & createdFlag) continue
      this.#states[row] = 0
      this.#offsets[row] = 0
    }
  }

  /** Undefined for a row of which nothing was tried. */
  of(row: number): RowState | undefined {
    const state = (this.#states[row] ?? 0) & ~createdFlag
    if (state === 0) return undefined
    const step = steps[(state - 1) % steps.length]
    const phase = phases[Math.floor((state - 1) / steps.length)]
    return step && phase && { step, phase }
  }

  offsetOf(row: number): number {
    return this.#offsets[row] ?? 0
  }

  /** Whether nothing was tried of any row. */
  get isUntouched(): boolean {
    return this.#states.every((state) => state === 0)
  }

  /** Whether any row was, or may have been, changed or created. */
  get mayHaveTaken(): boolean {
    return this.#states.some((_, row) => this.mayHaveTakenRow(row))
  }

  /** Whether a row was, or may have been, changed or created. */
  mayHaveTakenRow(row: number): boolean {
    const state = this.of(row)
    if (state === undefined) return false
    // A refused step after a create leaves the user that was created.
    const isAfterCreate = state.step !== 'create' && ((this.#states[row] ?? 0) & createdFlag) !== 0
    return isAfterCreate || (state.phase !== 'refused' && state.phase !== 'unsent')
  }

  /** How many rows wait for somebody to say what became of their user. */
  get unsettled(): number {
    let count = 0
    for (let row = 0; row < this.#states.length; row++) if (isUnsettled(this.of(row))) count++
    return count
  }
}

/** Whether the outcome of a create is unknown: it is not sent again. */
export function isUnsettled(state: RowState | undefined): boolean {
  if (state?.step !== 'create') return false
  return state.phase === 'unknown' || state.phase === 'intended' || state.phase === 'nameless'
}

/** The steps of a row that are still to be sent, in order. */
export function remainingSteps(row: UserRow, state: RowState | undefined): Step[] {
  const steps = stepsOf(row)
  if (!state) return steps
  if (state.phase === 'skipped') return []
  const at = steps.indexOf(state.step)
  return steps.slice(state.phase === 'took' ? at + 1 : at)
}
