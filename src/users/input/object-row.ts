import type { LocatedJson } from '../../contract/notation/locate-json.ts'
import type { Located } from '../../contract/notation/located.ts'
import { checkRow, type ExtraCheck, type FieldPath, type ReportFault } from '../rows/check-row.ts'
import { expandStrings } from '../rows/expand-strings.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { readObject } from '../rows/read-object.ts'
import { type InputRow, type RowFault, sortFaults } from './input-row.ts'
import { placeAfter, type RowPosition } from './row-place.ts'
import { locateValues, readStrictJson } from './text/strict-json.ts'

/** The source text of a row, and its place. */
export interface RowSource {
  index: number
  raw: string
  start: RowPosition
}

/** The rules for the rows of an input. */
export interface RowRules {
  kind: RowKind
  extraCheck?: ExtraCheck | undefined
  /** For `${NAME}` references in strings (default: references are not expanded). */
  env?: NodeJS.ProcessEnv | undefined
}

/**
 * Reads and checks a row that is an object.
 *
 * @param placeOf returns the place of a field
 */
export function objectRow(
  { index, raw, start }: RowSource,
  value: unknown,
  { kind, extraCheck, env }: RowRules,
  placeOf: (path: FieldPath) => RowPosition,
): InputRow {
  let faults: RowFault[] | undefined
  const report: ReportFault = (path, message, advice) => {
    faults ??= []
    faults.push({ ...placeOf(path), message, ...(advice && { advice }) })
  }
  const row = readObject(env ? expandStrings(value, env, report) : value, kind, report)
  if (row) {
    checkRow(row, kind, faults === undefined, report)
    extraCheck?.(row, { index, line: start.line, isFaulty: faults !== undefined }, report)
  }
  return { index, line: start.line, row, faults: sortFaults(faults), raw }
}

/** Reads and checks a row that is a JSON text. */
export function jsonRow(source: RowSource, rules: RowRules): InputRow {
  const { index, raw, start } = source
  let located: LocatedJson | undefined
  const locate = (): LocatedJson => {
    located ??= locateValues(raw)
    return located
  }
  const read = readStrictJson(raw, locate)
  if ('fault' in read) {
    const { at, message } = read.fault
    const fault = { ...placeAfter(start, raw.slice(0, at)), message }
    return { index, line: start.line, row: undefined, faults: [fault], raw }
  }
  return objectRow(source, read.value, rules, (path) =>
    placeAfter(start, raw.slice(0, offsetOf(locate().root, path))),
  )
}

/** Where a field with its name, or an item of a list, begins. */
export function offsetOf(root: Located | undefined, path: FieldPath): number {
  let located = root
  let offset = root?.at ?? 0
  for (const step of path) {
    if (located?.kind === 'map') {
      const entry = located.entries.find(({ key }) => key === step)
      offset = entry?.keyAt ?? offset
      located = entry?.value
    } else if (located?.kind === 'list') {
      located = located.items[Number(step)]
      offset = located?.at ?? offset
    } else break
  }
  return offset
}
