import { type ImportedUser, type Step, stepsOf } from '../rows/imported-user.ts'
import type { StepLine, StepOutcome } from './journal-line.ts'

const steps: readonly Step[] = ['create', 'update', 'assign']
const phases = ['intended', 'took', 'refused', 'unknown', 'unsent', 'nameless', 'skipped', 'differs'] as const

/** The last step of a row, and its outcome. */
export interface RowState {
  step: Step
  /** `intended`: the request may have been sent, and no outcome is recorded. */
  phase: StepOutcome | 'intended'
}

/** Flag of a state: the row began with a create. */
const createdFlag = 0x80

/** The states of all rows, in nine bytes per row, because an input may have millions. */
export class RowStates {
  readonly #states: Uint8Array
  /** Offset of the row's last line in the journal, in bytes. */
  readonly #offsets: Float64Array

  constructor(rows: number) {
    this.#states = new Uint8Array(rows)
    this.#offsets = new Float64Array(rows)
  }

  /**
   * @param offset of the line in the journal
   * @param isOwn false if another import or command sent it
   */
  apply({ row, step, did }: StepLine, offset: number, isOwn = true): void {
    if (row >= this.#states.length) return
    const created = step === 'create' && isOwn ? createdFlag : 0
    const flag = created || (this.#states[row] ?? 0) & createdFlag
    this.#states[row] = flag | (1 + phases.indexOf(did ?? 'intended') * steps.length + steps.indexOf(step))
    this.#offsets[row] = offset
  }

  /** After a finished run, rows with an id are sent again, but those that created a user are not. */
  forgetUpdates(): void {
    for (let row = 0; row < this.#states.length; row++) {
      if (this.isCreator(row)) continue
      this.#states[row] = 0
      this.#offsets[row] = 0
    }
  }

  /** Whether the import itself has sent the create of a row. */
  isCreator(row: number): boolean {
    return ((this.#states[row] ?? 0) & createdFlag) !== 0
  }

  /** Undefined if nothing of the row was tried. */
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

  /** Whether a row was, or may have been, changed or created. */
  mayHaveChanged(row: number): boolean {
    const state = this.of(row)
    if (state === undefined) return false
    // A refused step after a create leaves the user that was created.
    const isAfterCreate = state.step !== 'create' && this.isCreator(row)
    return isAfterCreate || (state.phase !== 'refused' && state.phase !== 'unsent')
  }

  /** The number of rows that the user must resolve. */
  get unresolved(): number {
    let count = 0
    for (let row = 0; row < this.#states.length; row++) if (isUnresolved(this.of(row))) count++
    return count
  }
}

/** Whether the outcome of a create is unknown, so that the user must resolve it. */
export function isUnresolved(state: RowState | undefined): boolean {
  if (state?.step !== 'create') return false
  return state.phase === 'unknown' || state.phase === 'intended' || state.phase === 'nameless'
}

/** The steps of a row that are not done yet, in order. */
export function remainingSteps(row: ImportedUser, state: RowState | undefined): Step[] {
  const steps = stepsOf(row)
  if (!state) return steps
  if (state.phase === 'skipped' || (state.phase === 'differs' && state.step === 'create')) return []
  const at = steps.indexOf(state.step)
  return steps.slice(state.phase === 'took' ? at + 1 : at)
}
