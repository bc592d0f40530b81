import { stringify } from 'yaml'
import { listBounds, locateYaml, UnreadableFile } from '../../contract/notation/locate-yaml.ts'
import { type Located, placesIn, plainValue } from '../../contract/notation/located.ts'
import { yamlWriting } from '../../contract/notation/yaml-scalars.ts'
import { failAt, type InputRow, maxRowLength, type RowShape, rowTooLarge } from './input-row.ts'
import { objectRow } from './object-rows.ts'

const blank = /^\s*(#.*|---\s*(#.*)?)?$/

/** An anchor, an alias, or a merge key, where a value or a key may begin (YAML 1.2.2 section 6.9.2). */
const reference = /(?:^|[:,[{-])[ \t]*(?:[&*][^\s,[\]{}]|<<[ \t]*:)/m

/**
 * Reads YAML: a list of rows, or a map with such a list as `listKey`, whose other keys may hold anchors. A list at
 * the left margin without anchors is parsed item by item, because the parser holds a hundred times as much as the text.
 */
export function* yamlRows<R>(text: string, name: string, shape: RowShape<R>): Generator<InputRow<R>> {
  const start = text.search(/^-(?:\s|$)/m)
  const head = text.slice(0, Math.max(0, start)).split('\n')
  if (start === -1 || reference.test(text) || !head.every((line) => blank.test(line))) {
    yield* documentRows(text, name, shape)
    return
  }
  let line = head.length
  for (const [index, raw] of text
    .slice(start)
    .split(/^(?=-(?:\s|$))/m)
    .entries()) {
    if (raw.length > maxRowLength) throw rowTooLarge(name, line)
    yield itemRow({ index, raw, line }, shape)
    line += raw.split('\n').length - 1
  }
}

/** One item of a list. */
function itemRow<R>(
  { index, raw, line }: { index: number; raw: string; line: number },
  shape: RowShape<R>,
): InputRow<R> {
  const placeIn = placesIn(raw, line)
  // A fault at the end belongs to this row, not to the line after it.
  const end = raw.trimEnd().length
  const placeOf = (at: number) => placeIn(Math.min(at, end))
  try {
    const root = locateYaml(raw, listBounds)
    const item = root.kind === 'list' ? root.items[0] : undefined
    return objectRow({ index, raw, start: { line, column: 1 } }, item ?? root, shape, placeOf)
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const faults = error.faults
      .slice(0, 1)
      .map((fault) => ({ ...placeOf(fault.at), message: wordsOf(fault) }))
    return { index, line, row: undefined, faults, raw }
  }
}

function* documentRows<R>(text: string, name: string, shape: RowShape<R>): Generator<InputRow<R>> {
  const placeOf = placesIn(text)
  const refuse = (at: number, words: string, hint?: string) => failAt(name, placeOf(at), words, hint)
  let root: Located
  try {
    root = locateYaml(text, listBounds)
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const [fault = { at: 0, words: '' }] = error.faults
    throw refuse(fault.at, wordsOf(fault), error.isTooLarge ? splitHint : undefined)
  }
  if (root.kind === 'scalar' && root.value === null) return
  const { listKey, keepsText } = shape
  const list = root.kind === 'map' ? root.entries.find(({ key }) => key === listKey)?.value : root
  if (list?.kind !== 'list') {
    const hint = `Begin each ${listKey.slice(0, -1)} with "- ", below ${listKey}: or at the left margin.`
    throw refuse(list?.at ?? root.at, `expected a list of ${listKey}`, hint)
  }
  for (const [index, item] of list.items.entries()) {
    const value = plainValue(item)
    // Without anchors, which are perhaps in another row.
    const raw = keepsText ? stringify([value], yamlWriting([value])) : ''
    yield objectRow({ index, raw, start: placeOf(item.at) }, item, shape, placeOf)
  }
}

const splitHint =
  'YAML with anchors, or below a key, is read as a whole. Split the file, or write a list without anchors.'

/** Without what a message of the parser quotes, which may be a password. */
function wordsOf({ words }: { words: string }): string {
  return words.replace(/((?<=\w):\s| \\).*/s, '')
}
