import { expandPath } from '../client/network/address.ts'
import { Failure } from '../contract/failure.ts'
import type { Input } from './input/input.ts'
import type { InputRow } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import { isUnresolved, type RowStates } from './journal/row-states.ts'
import type { RowKind } from './rows/imported-user.ts'
import type { Resolution } from './send/send-row.ts'

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

export interface UnknownRowResolutions {
  /** Undefined if the row is not to be resolved. */
  of(row: InputRow): Resolution | undefined
}

/** As `--line` takes it: `3`, or `3:17`. */
export function formatRowPlace({ line, column }: RowPlace): string {
  return column === undefined ? String(line) : `${line}:${column}`
}

/**
 * @throws Failure `usage` if no row at the place has an unknown outcome, or if an id was given for several
 *   rows; `refused` for an id that is not valid
 */
export async function readResolutions(
  { resolution, place }: ResolutionOptions,
  { input, kind, states }: { input: Input; kind: RowKind; states: RowStates },
): Promise<UnknownRowResolutions> {
  if (resolution === undefined) return { of: () => undefined }
  if (resolution.as === 'created') expandPath('{id}', { id: resolution.id })
  const isSelected = (row: RowPlace): boolean =>
    place === undefined ||
    (place.line === row.line && (place.column === undefined || place.column === row.column))
  const unresolved: RowPlace[] = []
  let isFound = false
  for await (const batch of readRows(input, kind)) {
    for (const { index, line, column } of batch) {
      const found = column === undefined ? { line } : { line, column }
      isFound ||= isSelected(found)
      if (isUnresolved(states.of(index))) unresolved.push(found)
    }
  }
  const selected = unresolved.filter(isSelected)
  if (place !== undefined && selected.length === 0) {
    const line = `line ${formatRowPlace(place)}`
    const known = `The outcome of ${line} of ${input.name} is known`
    throw wrongSelection(isFound ? known : `${input.name} has no row at ${line}`, unresolved)
  }
  if (resolution.as === 'created' && selected.length !== 1) {
    const words =
      selected.length === 0
        ? 'No row has an unknown outcome'
        : `${selected.length} rows have an unknown outcome, but an id can be given for only one row`
    throw wrongSelection(words, selected)
  }
  return { of: (row) => (isSelected(row) ? resolution : undefined) }
}

/** @param choices the rows that can be selected; the first ones are named */
function wrongSelection(words: string, choices: readonly RowPlace[]): Failure {
  const places = choices.slice(0, 20).map(formatRowPlace).join(', ')
  return new Failure('usage', words, {
    advice: [choices.length === 0 ? { code: 'no_unknown_row' } : { code: 'name_unknown_row', places }],
  })
}
