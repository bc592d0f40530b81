import { isRecord, parseJson } from '../../contract/exact-json.ts'
import { type JsonFault, type LocatedJson, locateJson } from '../../contract/locate-json.ts'
import type { Located } from '../../contract/located.ts'
import { type FieldPath, type JudgeMore, judgeRow } from '../rows/judge-row.ts'
import { readObject } from '../rows/read-object.ts'
import type { RowKind } from '../rows/user-row.ts'
import { type InputRow, inOrder, type Place, placeAfter, type RowFault } from './input-row.ts'

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

/** Levels that are located; a row may have about 100. */
const bounds = { depth: 1_000 }

/** The row of a text of JSON. */
export function jsonRow(source: RowSource, judgement: Judgement): InputRow {
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
  return objectRow(source, value, judgement, (path) =>
    placeAfter(start, raw.slice(0, offsetOf(locate().root, path))),
  )
}

const name = /"[ \t\r\n]*:/g
const escapedName = /\\"?[^"]{0,16}"[ \t\r\n]*:/

/** False where the text has as many names as the value; seven times as fast as to locate them. */
function mayRepeatName(text: string, value: unknown): boolean {
  // JSON.parse of Node 24.21 reads the name "\"" as "\\" after an object with that name.
  if (escapedName.test(text)) return true
  return (text.match(name)?.length ?? 0) !== countNames(value, bounds.depth)
}

/** @returns NaN for a value of more levels */
function countNames(value: unknown, levels: number): number {
  if (levels < 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + countNames(item, levels - 1), 0)
  if (!isRecord(value)) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, item) => sum + countNames(item, levels - 1), inner.length)
}

/** The words of `JSON.parse` quote the text, which may hold a password, and do not always say the place. */
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
function offsetOf(root: Located | undefined, path: FieldPath): number {
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
