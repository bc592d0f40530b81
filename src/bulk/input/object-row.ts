import { isRecord, parseJson } from '../../contract/exact-json.ts'
import { type JsonFault, type LocatedJson, locateJson } from '../../contract/locate-json.ts'
import type { Located } from '../../contract/located.ts'
import { checkRow, type ExtraCheck, type FieldPath, type ReportFault } from '../rows/check-row.ts'
import { expandStrings } from '../rows/expand-strings.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { readObject } from '../rows/read-object.ts'
import { type InputRow, placeAfter, type RowFault, type RowPosition, sortFaults } from './input-row.ts'

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

/** Maximum levels for which places are found. A valid row has about 100. */
const bounds = { depth: 1_000 }

/** Reads and checks a row that is a JSON text. */
export function jsonRow(source: RowSource, rules: RowRules): InputRow {
  const { index, raw, start } = source
  const broken = (offset: number, message: string): InputRow => {
    const fault = { ...placeAfter(start, raw.slice(0, offset)), message }
    return { index, line: start.line, row: undefined, faults: [fault], raw }
  }
  let located: LocatedJson | undefined
  const locate = (): LocatedJson => {
    located ??= locateJson(raw, bounds)
    return located
  }
  let value: unknown
  try {
    value = parseJson(raw)
  } catch {
    const { fault = { at: 0, expected: 'value' } } = locate()
    return broken(fault.at, `invalid JSON: ${wordsOf(fault, raw)}`)
  }
  const [repeated] = mayRepeatName(raw, value) ? locate().repeated : []
  if (repeated) return broken(repeated.at, `duplicate key ${JSON.stringify(repeated.name)}`)
  return objectRow(source, value, rules, (path) =>
    placeAfter(start, raw.slice(0, offsetOf(locate().root, path))),
  )
}

const name = /"[ \t\r\n]*:/g
const escapedName = /\\"?[^"]{0,16}"[ \t\r\n]*:/

/** False if text and value have the same number of names. Seven times as fast as finding the names. */
function mayRepeatName(text: string, value: unknown): boolean {
  // JSON.parse of Node 24.21 reads the name "\"" as "\\" after an object with that name.
  if (escapedName.test(text)) return true
  return (text.match(name)?.length ?? 0) !== countNames(value, bounds.depth)
}

/** @returns NaN if the value has more levels */
function countNames(value: unknown, levels: number): number {
  if (levels < 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + countNames(item, levels - 1), 0)
  if (!isRecord(value)) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, item) => sum + countNames(item, levels - 1), inner.length)
}

/** The message of `JSON.parse` may quote a password, and does not always contain the place. */
function wordsOf({ at, expected }: JsonFault, raw: string): string {
  const isText = expected.startsWith('name') && raw.charAt(at) === '"'
  const isWord = expected.startsWith('value') && /^[^{}[\],:]/.test(raw.charAt(at))
  return isText || isWord ? 'not a JSON value' : jsonWords[expected]
}

const jsonWords: Record<JsonFault['expected'], string> = {
  value: 'expected a value',
  'value or ]': 'expected a value or the end of the list',
  name: 'expected a key in double quotes',
  'name or }': 'expected a key in double quotes or the end of the object',
  colon: 'expected a colon',
  'comma or }': 'expected a comma or the end of the object',
  'comma or ]': 'expected a comma or the end of the list',
  'end of text': 'expected the end of the row',
  'less depth': `nested deeper than ${bounds.depth} levels`,
  'fewer values': 'too many values',
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
