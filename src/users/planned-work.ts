import type { PlannedRows } from '../bulk/file-run.ts'
import { expandPath } from '../client/network/address.ts'
import { endpoints } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import type { PlannedRequest } from '../view/dry-run.ts'
import type { CheckedInput, ValidRow } from './rows/check-input.ts'
import { bodyOf, type ImportedUser, type Step } from './rows/imported-user.ts'
import { isUnresolved, type RowState, remainingSteps } from './rows/row-state.ts'
import type { Resolution, RowWork } from './send/send-row.ts'

/** How the user resolves rows whose outcome is unknown. */
export interface ResolutionOptions {
  resolution: Resolution | undefined
  /** Limits the resolution to the row at this place. */
  place: RowPlace | undefined
}

/** Where a row begins in the input. The column distinguishes rows on the same line. */
export interface RowPlace {
  line: number
  column?: number
}

/** As `--line` takes it: `3`, or `3:17`. */
export function formatRowPlace({ line, column }: RowPlace): string {
  return column === undefined ? String(line) : `${line}:${column}`
}

/**
 * Chooses the rows with an unknown outcome that are resolved.
 * @param name of the input
 * @throws Failure `usage` if no row at the place has an unknown outcome, or if an id was given for several
 *   rows; `refused` for an id that is not valid
 */
export function chooseResolved(
  { resolution, place }: ResolutionOptions,
  { rows, valid }: CheckedInput,
  name: string,
): ResolvedRows {
  if (resolution === undefined) return { rows: new Set(), resolution }
  if (resolution.as === 'created') expandPath('{id}', { id: resolution.id })
  const isSelected = (row: RowPlace): boolean =>
    place === undefined ||
    (place.line === row.line && (place.column === undefined || place.column === row.column))
  const unresolved = valid.filter(({ state }) => isUnresolved(state))
  const selected = unresolved.filter(isSelected)
  if (place !== undefined && selected.length === 0) {
    const line = `line ${formatRowPlace(place)}`
    const known = `The outcome of ${line} of ${name} is known`
    throw wrongSelection(rows.some(isSelected) ? known : `${name} has no row at ${line}`, unresolved)
  }
  if (resolution.as === 'created' && selected.length !== 1) {
    const words =
      selected.length === 0
        ? 'No row has an unknown outcome'
        : `${selected.length} rows have an unknown outcome, but an id can be given for only one row`
    throw wrongSelection(words, selected)
  }
  const resolvable = selected.filter(({ state }) => canResolve(resolution, state))
  return { rows: new Set(resolvable), resolution }
}

/** @param choices the rows that can be selected; the first ones are named */
function wrongSelection(words: string, choices: readonly RowPlace[]): Failure {
  const places = choices.slice(0, 20).map(formatRowPlace).join(', ')
  return new Failure('usage', words, {
    hint:
      choices.length === 0
        ? 'Run the same command without --on-unknown.'
        : `Choose the row with --line: ${places}`,
  })
}

/** Whether a resolution applies: a user that was certainly created must not be created again. */
function canResolve({ as }: Resolution, state: RowState | undefined): boolean {
  if (state?.hold !== undefined) return false
  return !(as === 'retry' && state?.outcome === 'done')
}

/** The requests that a run will send. */
export interface PlannedWork extends PlannedRows {
  /** Rows whose outcome is unknown. Nothing is sent for them. */
  unknown: number
  /** Users that are read before the first change. */
  reads: number
  /** Numbers of requests by their kind. */
  steps: Record<Step, number>
  /** Users that will be created without a password, unless one is generated. */
  withoutPassword: number
}

/** Which rows are resolved, and how. */
export interface ResolvedRows {
  rows: ReadonlySet<ValidRow>
  resolution: Resolution | undefined
}

/** The work of the rows that need any, one after another. */
export function* workOf(valid: readonly ValidRow[], resolved: ResolvedRows): Generator<RowWork> {
  for (const checked of valid) {
    const work = workOfRow(checked, resolved)
    if (work && (work.steps.length > 0 || work.resolution)) yield work
  }
}

/** @returns undefined if the outcome of an earlier request is unknown, so that nothing is sent */
function workOfRow(checked: ValidRow, { rows, resolution: chosen }: ResolvedRows): RowWork | undefined {
  const { state } = checked
  const resolution = rows.has(checked) ? chosen : undefined
  if (isUnresolved(state) && !resolution) return undefined
  const id = resolution?.as === 'created' ? resolution.id : (checked.row.id ?? state?.id)
  const remaining = resolution?.as === 'skip' ? [] : remainingSteps(checked.row, state)
  return { checked, steps: resolution?.as === 'created' ? remaining.slice(1) : remaining, id, resolution }
}

/** @param reads number of users that are read before the first change */
export function planWork({ rows, valid }: CheckedInput, resolved: ResolvedRows, reads: number): PlannedWork {
  const steps = { create: 0, update: 0, assign: 0 }
  const planned = {
    rows: rows.length,
    done: 0,
    unknown: 0,
    reads,
    steps,
    requests: reads,
    withoutPassword: 0,
  }
  for (const checked of valid) {
    const work = workOfRow(checked, resolved)
    if (!work) planned.unknown++
    else if (work.steps.length === 0 && !work.resolution) planned.done++
    for (const step of work?.steps ?? []) steps[step]++
    planned.requests += work?.steps.length ?? 0
    if (work?.steps.includes('create') && checked.row.password === undefined) planned.withoutPassword++
  }
  return planned
}

const endpointOf = { create: 'createUser', update: 'updateUser', assign: 'assignPermissions' } as const

/** A row or a user with its requests. */
interface WithSteps {
  file?: string
  line?: number
  row: ImportedUser
  steps: readonly Step[]
  /** Of the user, if it is known. */
  id: string | undefined
}

/** The first requests, of which a user wants to see some. */
export function findFirstRequests(
  all: Iterable<WithSteps>,
  { generatesPasswords, limit }: { generatesPasswords: boolean; limit: number },
): PlannedRequest[] {
  const found: PlannedRequest[] = []
  for (const { file, line, row, steps, id } of all) {
    for (const step of steps) {
      if (found.length === limit) return found
      const { method, path: template } = endpoints[endpointOf[step]]
      const path = id === undefined ? template : expandPath(template, { id })
      const generatesPassword = generatesPasswords && step === 'create' && row.password === undefined
      found.push({ file, line, method, path, body: bodyOf[step](row), generatesPassword })
    }
  }
  return found
}
