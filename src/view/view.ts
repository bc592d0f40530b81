import { isRecord } from '../contract/exact-json.ts'

/** A piece of a text, and how it stands out where there is color. */
export interface Span {
  text: string
  style?: 'bold' | 'dim' | 'red' | 'green' | 'yellow'
}

/** How the rows of one resource are found in a body and shown. */
export interface View {
  /** What is shown, and what `--fields` may name, in the documented order. */
  columns: readonly Column[]
  /** `pairs`: one object as a row for each of its leaves; `records`: a row for each element. */
  layout: 'pairs' | 'records'
  /** The elements of a body; the body itself where this is absent. */
  rows?(body: unknown): readonly unknown[]
  /** Whether what has no value is left out of a table: it says nothing. */
  sparse?: boolean
  /** What a person is told instead of a table without rows. */
  none?: string
  /**
   * What a person reads, if the result is a text rather than a table.
   *
   * @param width columns of the terminal; Infinity if it is not one
   */
  text?(body: unknown, width?: number): string | readonly Span[]
  /** Whether the text is for a terminal alone, so that pipes get rows. */
  speaksToPeople?: boolean
}

interface Column {
  /** Dotted path into a row. */
  path: string
  /** Whether deeper paths than this one are anybody's, as in `metadata`. */
  open?: boolean
  /** Shown only where asked for by `--fields`. */
  hidden?: boolean
  /** Left out of a table, for the room of what tells its rows apart, unless asked for. */
  aside?: boolean
  /** In a table the last to be broken: it is to be copied. */
  whole?: boolean
  /** A moment: ISO 8601, or seconds since the epoch. */
  time?: boolean
}

/** One row of data that was chosen for showing: text by column, in order. */
export interface Grid {
  header: readonly string[]
  rows: readonly (readonly string[])[]
}

/** The value at a dotted path; undefined where any step is missing. */
export function valueAt(value: unknown, path: string): unknown {
  let here = value
  for (const step of path.split('.')) {
    if (!(isRecord(here) || Array.isArray(here)) || !Object.hasOwn(here, step)) return undefined
    here = (here as Record<string, unknown>)[step]
  }
  return here
}

/** Rows of any body: the view's elements, or what stands where they should. */
export function rowsOf(view: View, body: unknown): readonly unknown[] {
  if (body === undefined) return []
  if (view.rows) return view.rows(body)
  return Array.isArray(body) ? body : [body]
}

/**
 * @param fields the paths asked for, or undefined for the view's own columns
 * @param cell the text of a value, by its path
 */
export function gridOf(
  view: View,
  body: unknown,
  fields: readonly string[] | undefined,
  cell: Cell = textOf,
): Grid {
  if (view.layout === 'records') return recordsGrid(view, body, fields, cell)
  return isRecord(body) ? pairsGrid(view, body, fields, cell) : listGrid(body, fields, cell)
}

type Cell = (value: unknown, path: string) => string

/** What came where an object was due: a list with the columns of all its elements, or one value. */
function listGrid(body: unknown, fields: readonly string[] | undefined, cell: Cell): Grid {
  const rows = rowsOf({ layout: 'records', columns: [] }, body)
  const header = fields ?? [...new Set(rows.flatMap((row) => (isRecord(row) ? Object.keys(row) : ['value'])))]
  return {
    header,
    rows: rows.map((row) =>
      header.map((name) => cell(isRecord(row) || name !== 'value' ? valueAt(row, name) : row, name)),
    ),
  }
}

function recordsGrid(view: View, body: unknown, fields: readonly string[] | undefined, cell: Cell): Grid {
  const header = fields ?? view.columns.filter(({ hidden }) => !hidden).map(({ path }) => path)
  const rows = rowsOf(view, body).map((row) => header.map((path) => cell(valueAt(row, path), path)))
  // Of a body that shows nothing of what it should, a row says nothing either.
  const isBlank = isRecord(body) && !view.rows && !fields && rows[0]?.every((text) => text === '')
  return { header, rows: isBlank ? [] : rows }
}

/** The chosen keys, else the documented ones and then whatever else was sent. */
function pairsGrid(view: View, body: unknown, fields: readonly string[] | undefined, cell: Cell): Grid {
  const leaves = new Map(leavesOf(body, ''))
  const documented = view.columns.map(({ path }) => path).filter((path) => leaves.has(path))
  const chosen = fields
    ? fields.flatMap((field) =>
        [...leaves.keys()].filter((leaf) => leaf === field || leaf.startsWith(`${field}.`)),
      )
    : [...documented, ...leaves.keys()]
  return {
    header: ['key', 'value'],
    rows: [...new Set(chosen)].map((path) => [path, cell(leaves.get(path), path)]),
  }
}

/** Every value that is not itself an object with something in it, by its dotted path. */
export function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (!isRecord(value) || Object.keys(value).length === 0) return path ? [[path, value]] : []
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, path ? `${path}.${key}` : key))
}

/** A cell: strings as they are, nothing for null, anything nested as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
