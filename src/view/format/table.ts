import Table from 'cli-table3'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { leavesOf, valueAt } from '../../contract/notation/tree.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { localTime } from './quantities.ts'
import { type Grid, gridOf, rowsOf, textOf, type View } from './view.ts'

interface TableStyle {
  /** The selected paths; undefined for the columns of the view. */
  fields: readonly string[] | undefined
  /** Columns of the terminal. Longer cells are wrapped. */
  width: number
  bold(text: string): string
}

const noFrame = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

const gap = 2
const narrowest = 12
/** Maximum length of a word that is not split, so that IDs can be copied. */
const longestId = 40

/**
 * A table without borders, at most as wide as the terminal. If its words do not fit, each row is shown
 * as a list of names and values.
 */
export function renderTable(view: View, body: unknown, { fields, width, bold }: TableStyle): string {
  const { header: names, rows, whole } = tableGrid(view, body, fields)
  if (rows.length === 0) return ''
  // The service may have chosen the names, too.
  const header = names.map(stripControls)
  const clean = rows.map((row) => row.map(stripControls))
  const lines = [header.map((name) => name.toUpperCase()), ...clean]
  const unbroken = header.length > 2 ? Math.floor(width / 3) : longestId
  const columns = header.map((name, index) =>
    measure(lines, index, whole.includes(names[index] ?? name) ? undefined : unbroken),
  )
  if (header.length > 1 && total(columns.map(({ least }) => least)) > width) {
    const drawn = clean.map((row) =>
      header.length > 2 ? drawRecord(header, row, width, bold) : drawStacked(row, width, bold),
    )
    return drawn.join(header.length > 2 ? '\n' : '')
  }
  const [title = '', ...rest] = draw(lines, shrinkToFit(columns, width))
  return `${[bold(title), ...rest].join('\n')}\n`
}

interface Measure {
  /** Width without wrapping. */
  natural: number
  /** Minimum readable width: no word is split, and at least `narrowest`. */
  least: number
}

/** @param unbroken maximum length of a word that is not split; undefined if cells are not wrapped */
function measure(
  lines: readonly (readonly string[])[],
  index: number,
  unbroken: number | undefined,
): Measure {
  const cells = lines.map((line) => line[index] ?? '')
  const widest = (separator: string | RegExp): number =>
    cells
      .flatMap((cell) => cell.split(separator))
      .reduce((most, part) => Math.max(most, stringWidth(part)), 0)
  const natural = widest('\n')
  const word = unbroken === undefined ? natural : Math.min(widest(/\s/), unbroken)
  return { natural, least: Math.min(natural, Math.max(word, narrowest)) }
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one + gap, -gap)
}

/** Narrows the widest column step by step until all fit. Words are split only as a last resort. */
function shrinkToFit(columns: readonly Measure[], width: number): number[] {
  const widths = columns.map(({ natural }) => Math.min(natural, width))
  const takeDownTo = (least: readonly number[]): void => {
    while (total(widths) > width) {
      const giving = widths.map((one, index) => (one > (least[index] ?? 0) ? one : 0))
      const widest = Math.max(...giving)
      if (widest === 0) break
      widths[giving.indexOf(widest)] = widest - 1
    }
  }
  takeDownTo(columns.map(({ least }) => least))
  takeDownTo(columns.map(() => 1))
  return widths
}

function drawRecord(
  header: readonly string[],
  row: readonly string[],
  width: number,
  bold: (text: string) => string,
): string {
  const filled = header.map((name, index) => [name, row[index] ?? '']).filter(([, cell]) => cell !== '')
  const key = Math.max(...filled.map(([name = '']) => stringWidth(name)))
  const lines = filled.map(([name = '', cell = '']) => [bold(name), cell])
  return `${draw(lines, [key, Math.max(1, width - key - gap)]).join('\n')}\n`
}

/** A name, and below it its value. */
function drawStacked(
  [name = '', cell = '']: readonly string[],
  width: number,
  bold: (text: string) => string,
): string {
  const wrap = (text: string, room: number) => wrapAnsi(text, Math.max(1, room), { hard: true }).split('\n')
  const indented = wrap(cell, width - gap).map((line) => `${' '.repeat(gap)}${line}`.trimEnd())
  return `${[...wrap(name, width).map((line) => bold(line)), ...indented].join('\n')}\n`
}

/** Number of lines in one cli-table3 table, whose time grows faster than linearly with its lines. */
const maxLines = 100

function draw(lines: readonly (readonly string[])[], widths: readonly number[]): string[] {
  const wrapped = lines.flatMap((line) => wrapCells(line, widths))
  const drawn: string[] = []
  for (let at = 0; at < wrapped.length; at += maxLines) {
    const table = new Table({
      chars: noFrame,
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
      colWidths: [...widths],
    })
    table.push(...wrapped.slice(at, at + maxLines))
    drawn.push(...table.toString().split('\n'))
  }
  return drawn.map((line) => line.trimEnd())
}

/**
 * The screen lines of a row. Wrapped here, because cli-table3 loses text that does not fit, and takes 3 s
 * for a cell of 60 lines.
 */
function wrapCells(line: readonly string[], widths: readonly number[]): string[][] {
  const cells = line.map((cell, index) => wrapAnsi(cell, widths[index] ?? 1, { hard: true }).split('\n'))
  const height = cells.reduce((most, parts) => Math.max(most, parts.length), 0)
  return Array.from({ length: height }, (_, at) => cells.map((parts) => parts[at] ?? ''))
}

/** The cells of a table, formatted for people. */
interface TableGrid extends Grid {
  /** Names of the columns that are not wrapped. */
  whole: readonly string[]
}

/**
 * A single record has a row for each of its values. A list omits secondary columns, and columns without
 * any value.
 * @param fields the selected paths; undefined for the columns of the view
 */
function tableGrid(view: View, body: unknown, fields: readonly string[] | undefined): TableGrid {
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
  return leavesOf(value)
    .map(([leaf, inner]) => `${leaf}=${textOf(inner)}`)
    .join(', ')
}
