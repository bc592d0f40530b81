import { locateJson } from '../../contract/notation/locate-json.ts'
import {
  type FilePosition,
  type Located,
  type LocatedEntry,
  type LocatedMap,
  placesIn,
} from '../../contract/notation/located.ts'
import {
  type FieldPath,
  failAt,
  type InputRow,
  maxRowLength,
  type ReportFault,
  type RowFault,
  type RowShape,
  rowTooLarge,
  sortFaults,
} from './input-row.ts'

/** Maximum levels of a file, because some parsers refuse deeper nesting. */
const bounds = { depth: 100 }

/** Reads and checks a row that is an object. @param placeOf converts an offset of the located value */
export function objectRow<R>(
  { index, raw, start }: { index: number; raw: string; start: FilePosition },
  located: Located,
  shape: RowShape<R>,
  placeOf: (at: number) => FilePosition,
): InputRow<R> {
  let faults: RowFault[] | undefined
  const indexes: Indexes = new Map()
  const report: ReportFault = (path, message, hint) => {
    faults ??= []
    faults.push({ ...placeOf(offsetOf(located, path, indexes)), message, hint })
  }
  const row = shape.readObject(located, report)
  if (row) {
    const read = { line: start.line, isComplete: faults === undefined, isFaulty: () => faults !== undefined }
    shape.check(row, read, report)
  }
  return { index, line: start.line, row, faults: sortFaults(faults), raw }
}

type Indexes = Map<LocatedMap, ReadonlyMap<unknown, LocatedEntry>>

/**
 * Where a field with its name, or an item of a list, begins.
 * @param indexes of the maps by name, because a row may have a fault in each of its fields
 */
function offsetOf(root: Located, path: FieldPath, indexes: Indexes): number {
  let located: Located | undefined = root
  let offset = root.at
  for (const step of path) {
    if (located?.kind === 'map') {
      if (!indexes.has(located)) indexes.set(located, new Map(located.entries.map((one) => [one.key, one])))
      const entry: LocatedEntry | undefined = indexes.get(located)?.get(step)
      offset = entry?.keyAt ?? offset
      located = entry?.value
    } else if (located?.kind === 'list') {
      located = located.items[Number(step)]
      offset = located?.at ?? offset
    } else break
  }
  return offset
}

/** A JSON text without duplicate names. @returns its first fault otherwise */
export function readStrictJson(text: string): { root: Located } | { fault: { at: number; message: string } } {
  const { root, fault, repeated } = locateJson(text, bounds)
  const [twice] = repeated
  if (twice) return { fault: { at: twice.at, message: `duplicate key ${JSON.stringify(twice.name)}` } }
  if (root && !fault) return { root }
  return { fault: { at: fault?.at ?? 0, message: `invalid JSON: ${fault?.words}` } }
}

/** Reads JSONL: one object per line. */
export function* jsonLineRows<R>(text: string, name: string, shape: RowShape<R>): Generator<InputRow<R>> {
  let index = 0
  for (const [at, raw] of text.split('\n').entries()) {
    const line = at + 1
    if (raw.length > maxRowLength) throw rowTooLarge(name, line)
    if (raw.trim() !== '') yield jsonLineRow({ index: index++, raw: raw.replace(/\r$/, ''), line }, shape)
  }
}

function jsonLineRow<R>(
  { index, raw, line }: { index: number; raw: string; line: number },
  shape: RowShape<R>,
): InputRow<R> {
  const start = { line, column: 1 }
  const placeOf = placesIn(raw, line)
  const read = readStrictJson(raw)
  if ('root' in read) return objectRow({ index, raw, start }, read.root, shape, placeOf)
  const { at, message } = read.fault
  return { index, line, row: undefined, faults: [{ ...placeOf(at), message }], raw }
}

const jsonLinesHint = 'For one object per line, use: --format jsonl'

/** Reads a JSON list of objects, which may be the `listKey` or `data` of an object, or a single object. */
export function* jsonListRows<R>(text: string, name: string, shape: RowShape<R>): Generator<InputRow<R>> {
  if (text.trim() === '') return
  const placeOf = placesIn(text)
  const refuse = (at: number, words: string, hint?: string) => failAt(name, placeOf(at), words, hint)
  const read = readStrictJson(text)
  if ('fault' in read) {
    throw refuse(read.fault.at, read.fault.message, /^\s*\{/.test(text) ? jsonLinesHint : undefined)
  }
  const { root } = read
  const { listKey } = shape
  const entries = root.kind === 'map' ? root.entries : []
  const wrapped = entries.find(
    ({ key, value }) => key === listKey || (key === 'data' && value.kind === 'list'),
  )
  const list = wrapped && entries.length === 1 ? wrapped.value : root
  if (list.kind !== 'list' && (wrapped || list.kind !== 'map'))
    throw refuse(list.at, `expected a list of objects or {"${listKey}": [...]}`, jsonLinesHint)
  for (const [index, item] of (list.kind === 'list' ? list.items : [list]).entries()) {
    const start = placeOf(item.at)
    const source = { index, raw: text.slice(item.at, item.end), start }
    yield { ...objectRow(source, item, shape, placeOf), column: start.column }
  }
}
