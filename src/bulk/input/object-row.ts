import { parseJson } from '../../contract/exact-json.ts'
import { type FieldPath, type JudgeMore, judgeRow } from '../rows/judge-row.ts'
import { readObject } from '../rows/read-object.ts'
import type { RowKind } from '../rows/user-row.ts'
import type { InputRow, RowFault } from './input-row.ts'
import { findJsonBreak } from './json-break.ts'
import { findRepeatedName, offsetOf } from './json-text.ts'
import { type Place, placeAfter } from './place.ts'
import { inOrder } from './row-faults.ts'

/** A row as it stands in its input, and where that is. */
export interface RowSource {
  index: number
  raw: string
  start: Place
}

/** What a row is judged by. */
export interface Judgement {
  kind: RowKind
  more: JudgeMore | undefined
}

/**
 * The row that a value is, with its faults.
 * @param placeOf says where a field begins
 */
export function objectRow(
  { index, raw, start }: RowSource,
  value: unknown,
  { kind, more }: Judgement,
  placeOf: (path: FieldPath) => Place,
): InputRow {
  let faults: RowFault[] | undefined
  const say = (path: FieldPath, message: string): void => {
    faults ??= []
    faults.push({ ...placeOf(path), message })
  }
  const row = readObject(value, kind, say)
  if (row) {
    judgeRow(row, kind, faults === undefined, say)
    more?.(row, { index, line: start.line, isFaulty: faults !== undefined }, say)
  }
  return { index, line: start.line, row, faults: inOrder(faults), raw }
}

/** The row of a text of JSON. */
export function jsonRow(source: RowSource, judgement: Judgement): InputRow {
  const { index, raw, start } = source
  const broken = (offset: number, message: string): InputRow => {
    const fault = { ...placeAfter(start, raw.slice(0, offset)), message }
    return { index, line: start.line, row: undefined, faults: [fault], raw }
  }
  let value: unknown
  try {
    value = parseJson(raw)
  } catch {
    const { offset, message } = findJsonBreak(raw)
    return broken(offset, message)
  }
  const repeated = findRepeatedName(raw)
  if (repeated) return broken(repeated.offset, `${JSON.stringify(repeated.name)} comes twice in one object`)
  return objectRow(source, value, judgement, (path) => placeAfter(start, raw.slice(0, offsetOf(raw, path))))
}
