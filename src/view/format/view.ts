import type { EndpointName } from '../../contract/endpoints.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { leavesOf, valueAt } from '../../contract/notation/tree.ts'

/** A piece of text, and its style if colors are enabled. */
export interface Span {
  text: string
  style?: 'bold' | 'dim' | 'red' | 'green' | 'yellow'
}

/** How the rows of a resource are read from a body and shown. */
export interface View {
  /** The columns that are shown, and that `--fields` may name, in the documented order. */
  columns: readonly Column[]
  /** `pairs`: one object as a row for each of its leaves; `records`: a row for each element. */
  layout: 'pairs' | 'records'
  /** The rows of a body (default: the body itself). */
  rows?(body: unknown): readonly unknown[]
  /** Whether a table omits rows without a value. */
  omitsEmpty?: boolean
  /** Shown instead of an empty table. */
  emptyText?: string
  /**
   * The text for a person, if the result is not a table.
   * @param width columns of the terminal; Infinity if it is not one
   */
  text?(body: unknown, width?: number): string | readonly Span[]
  /** The Markdown document (default: a table of the rows). */
  markdown?(body: unknown): string
  /** Whether only a terminal gets the text, so that a pipe gets rows. */
  isForTerminal?: boolean
  /** What JSON contains (default: `columns`). */
  json?: JsonContent
  /** Whether JSON has each row on one line. */
  isCompact?: boolean
}

/**
 * `columns`: one object with the columns; `list`: a list of them; `any`: any value. An endpoint: its response, and the
 * columns that the response lacks. `either`: one of these, or a list of them. Columns: one object with these instead;
 * in their paths, `[]` follows a list.
 */
type JsonContent = 'list' | 'any' | One | { readonly either: One } | readonly Column[]
type One = 'columns' | EndpointName

export interface Column {
  /** Dotted path into a row. */
  path: string
  /** Whether deeper paths are arbitrary, as in `metadata`. */
  open?: boolean
  /** Shown only if `--fields` names it. */
  hidden?: boolean
  /** Omitted from tables, to save room, unless `--fields` names it. */
  secondary?: boolean
  /** Wrapped only as a last resort, so that it can be copied. */
  whole?: boolean
  /** A time: ISO 8601, or seconds since the epoch. */
  time?: boolean
  /** Type in JSON (default: string, or object if deeper paths are arbitrary). `strings` and `objects` are lists. */
  type?: 'integer' | 'number' | 'boolean' | 'strings' | 'object' | 'objects' | 'any'
}

const properties = ['open', 'hidden', 'secondary', 'whole', 'time']

/** Columns from text: paths, with their properties and types after colons, as in `id:whole limit:integer:hidden`. */
export function plain(...columns: readonly string[]): Column[] {
  return columns.flatMap((text) => text.trim().split(/\s+/)).map(readColumn)
}

function readColumn(text: string): Column {
  const [path = '', ...marks] = text.split(':')
  return Object.assign(
    { path },
    ...marks.map((one) => (properties.includes(one) ? { [one]: true } : { type: one })),
  )
}

/** A view with a row for each element. @param columns as text: see `plain` */
export function recordsView(columns: string, more: Omit<View, 'layout' | 'columns'> = {}): View {
  return { layout: 'records', columns: plain(columns), ...more }
}

/** The same of a list. */
export function listView(columns: string, more: Omit<View, 'layout' | 'columns'> = {}): View {
  return recordsView(columns, { json: 'list', ...more })
}

/** A view of one object, with a row for each of its leaves. */
export function pairsView(columns: string, more: Omit<View, 'layout' | 'columns'> = {}): View {
  return { layout: 'pairs', columns: plain(columns), ...more }
}

/** The text of the selected columns, row by row. */
export interface Grid {
  header: readonly string[]
  rows: readonly (readonly string[])[]
}

/** The rows of a list in a body; none if it is not a list. */
export const listAt =
  (path: string) =>
  (body: unknown): readonly unknown[] => {
    const list = valueAt(body, path)
    return Array.isArray(list) ? list : []
  }

/** The rows of any body, also of one with an unexpected type. */
export function rowsOf(view: View, body: unknown): readonly unknown[] {
  if (body === undefined) return []
  if (view.rows) return view.rows(body)
  return Array.isArray(body) ? body : [body]
}

/**
 * @param fields the selected paths; undefined for the columns of the view
 * @param cell formats a value, given its path
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

/** A body that is not an object as expected: a list with the columns of all its elements, or one value. */
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
  // A body with none of the columns has no row.
  const isBlank = isRecord(body) && !view.rows && !fields && rows[0]?.every((text) => text === '')
  return { header, rows: isBlank ? [] : rows }
}

/** The selected keys, or else the documented ones followed by all others. */
function pairsGrid(view: View, body: unknown, fields: readonly string[] | undefined, cell: Cell): Grid {
  const leaves = new Map(leavesOf(body))
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

/** The text of a value: strings unchanged, empty for null, and JSON for nested values. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One value: as text, or as JSON. Used by `config get` and `settings get`. */
export const valueView: View = {
  layout: 'records',
  json: 'any',
  columns: [{ path: 'value' }],
  rows: (value) => [{ value }],
  text: (value) => textOf(value),
}

/** Any JSON document. The default output is JSON. Used by `api` and `settings schema`. */
export const documentView: View = {
  layout: 'pairs',
  json: 'any',
  columns: [],
  text: (body) => JSON.stringify(body, null, 2),
}
