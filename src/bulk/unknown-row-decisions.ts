import { expandPath } from '../client/address.ts'
import { Failure } from '../contract/failure.ts'
import type { Input } from './input/input.ts'
import type { InputRow } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import { isUnsettled, type RowStates } from './journal/row-states.ts'
import type { RowKind } from './rows/user-row.ts'
import type { Settlement } from './send/send-row.ts'

/** What was said of rows whose users may or may not have been created. */
export interface DecisionOptions {
  settlement: Settlement | undefined
  /** Only of the row there. */
  place: RowPlace | undefined
}

/** Where a row begins in the input; the column tells rows apart that share a line. */
export interface RowPlace {
  line: number
  column?: number
}

export interface UnknownRowDecisions {
  /** What was said of this row, undefined for nothing. */
  of(row: InputRow): Settlement | undefined
}

/** Where a row begins, as a person names it. */
export function describePlace({ line, column }: RowPlace): string {
  return column === undefined ? String(line) : `${line}:${column}`
}

/**
 * @throws Failure `usage` where no such row is unknown, or an id was given for several; `refused` for
 *   an id that none can be
 */
export async function readDecisions(
  { settlement, place }: DecisionOptions,
  { input, kind, states }: { input: Input; kind: RowKind; states: RowStates },
): Promise<UnknownRowDecisions> {
  if (settlement === undefined) return { of: () => undefined }
  if (settlement.as === 'created') expandPath('{id}', { id: settlement.id })
  const isMeant = (row: RowPlace): boolean =>
    place === undefined ||
    (place.line === row.line && (place.column === undefined || place.column === row.column))
  const unsettled = await findUnsettled(input, kind, states)
  const meant = unsettled.filter(isMeant)
  if (place !== undefined && meant.length === 0) {
    const which =
      unsettled.length === 0 ? 'no row has an unknown outcome' : `unknown: line ${describePlaces(unsettled)}`
    throw new Failure(
      'usage',
      `The outcome of line ${describePlace(place)} of ${input.name} is known; ${which}`,
    )
  }
  if (settlement.as === 'created' && meant.length !== 1) {
    const words =
      meant.length === 0
        ? 'No row has an unknown outcome'
        : `${meant.length} rows have an unknown outcome, but an id can be given for only one row`
    throw new Failure('usage', words, {
      advice: [
        meant.length === 0
          ? { code: 'no_unknown_row' }
          : { code: 'name_unknown_row', places: describePlaces(meant) },
      ],
    })
  }
  return { of: (row) => (isMeant(row) ? settlement : undefined) }
}

/** The first of them, which are enough to see what is meant. */
function describePlaces(places: readonly RowPlace[]): string {
  return places.slice(0, 20).map(describePlace).join(', ')
}

async function findUnsettled(input: Input, kind: RowKind, states: RowStates): Promise<RowPlace[]> {
  const places: RowPlace[] = []
  if (states.unsettled === 0) return places
  for await (const batch of readRows(input, kind)) {
    for (const { index, line, column } of batch) {
      if (isUnsettled(states.of(index))) places.push(column === undefined ? { line } : { line, column })
    }
  }
  return places
}
