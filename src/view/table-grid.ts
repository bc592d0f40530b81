import { isRecord } from '../contract/exact-json.ts'
import { localTime } from './local-time.ts'
import { type Grid, gridOf, leavesOf, rowsOf, textOf, type View, valueAt } from './view.ts'

/** The cells of a table, formatted for people. */
export interface TableGrid extends Grid {
  /** Names of the columns that are not wrapped. */
  whole: readonly string[]
}

/**
 * A single record has a row for each of its values. A list omits secondary columns, and columns without
 * any value.
 *
 * @param fields the selected paths; undefined for the columns of the view
 */
export function tableGrid(view: View, body: unknown, fields: readonly string[] | undefined): TableGrid {
  const wholePaths = view.columns.filter(({ whole, time }) => whole || time).map(({ path }) => path)
  const cell = (value: unknown, path: string): string => cellOf(view, value, path)
  if (view.layout === 'pairs') {
    const { header, rows } = gridOf(view, body, fields, cell)
    return { header, rows: view.omitsEmpty ? rows.filter(([, text]) => text !== '') : rows, whole: ['key'] }
  }
  const [row] = rowsOf(view, body)
  if (row !== undefined && !Array.isArray(body) && !view.rows) return recordGrid(view, row, fields, cell)
  const shown =
    fields ?? view.columns.filter(({ hidden, secondary }) => !hidden && !secondary).map(({ path }) => path)
  const { header, rows } = gridOf(view, body, shown, cell)
  const kept = header.map((_, index) => fields !== undefined || rows.some((cells) => cells[index] !== ''))
  const keep = (cells: readonly string[]): string[] => cells.filter((_, index) => kept[index])
  return { header: keep(header), rows: rows.map(keep), whole: wholePaths }
}

type Cell = (value: unknown, path: string) => string

function recordGrid(view: View, row: unknown, fields: readonly string[] | undefined, cell: Cell): TableGrid {
  const paths = fields ?? view.columns.filter(({ hidden }) => !hidden).map(({ path }) => path)
  const rows = paths.flatMap((path) => {
    const leaves = leavesOf(valueAt(row, path) ?? null, path)
    return leaves.map(([leaf, value]) => [leaf, cell(value, leaf)])
  })
  const shown = fields ? rows : rows.filter(([, text]) => text !== '')
  return { header: ['key', 'value'], rows: shown, whole: ['key'] }
}

/** Formats a cell: local times, and lists and objects without brackets.  */
function cellOf(view: View, value: unknown, path: string): string {
  const isTime = view.columns.some((column) => column.path === path && column.time)
  const time = isTime ? localTime(value) : undefined
  if (time !== undefined) return time
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (!isRecord(value)) return textOf(value)
  return leavesOf(value, '')
    .map(([leaf, inner]) => `${leaf}=${textOf(inner)}`)
    .join(', ')
}
