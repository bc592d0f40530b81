import Table from 'cli-table3'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import type { Grid } from './view.ts'

export interface TableStyle {
  /** Columns of the terminal; what is longer wraps. */
  width: number
  /** Indices of columns that give way last. */
  whole: readonly number[]
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

/** A table without frames, as wide as the terminal at most; the widest columns give way first. */
export function renderTable({ header, rows }: Grid, style: TableStyle): string {
  if (rows.length === 0) return ''
  const titles = header.map((name) => name.toUpperCase())
  const widths = shrinkToFit(naturalWidths(titles, rows), style)
  const table = new Table({
    chars: noFrame,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: widths,
  })
  // Wrapped here, because a cell that is wrapped by the table loses what does not fit into a line.
  const wrap = (cell: string, index: number) => wrapAnsi(cell, widths[index] ?? 1, { hard: true })
  table.push(titles.map(wrap), ...rows.map((row) => row.map(wrap)))
  const [titleLine = '', ...lines] = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
  return `${[style.bold(titleLine), ...lines].join('\n')}\n`
}

/** Whether a table of this grid can be as narrow as the terminal. */
export function fitsWidth({ header, rows }: Grid, width: number): boolean {
  const least = naturalWidths(header, rows).map((one) => Math.min(one, narrowest))
  return sumOf(least) <= width
}

/** The longest line of each column. */
function naturalWidths(titles: readonly string[], rows: Grid['rows']): number[] {
  return titles.map((title, index) =>
    Math.max(stringWidth(title), ...rows.map((row) => longestLine(row[index] ?? ''))),
  )
}

const gap = 2
const narrowest = 8

/** Columns of the terminal that columns of these widths take. */
function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one + gap, -gap)
}

/** Takes width from the widest column, one at a time, until all fit. */
function shrinkToFit(natural: readonly number[], { width, whole }: TableStyle): number[] {
  const widths = [...natural]
  const takeFrom = (isGiving: (index: number) => boolean): void => {
    while (sumOf(widths) > width) {
      const giving = widths.map((one, index) => (isGiving(index) ? one : 0))
      const widest = giving.indexOf(Math.max(...giving))
      if ((giving[widest] ?? 0) <= narrowest) break
      widths[widest] = (widths[widest] ?? 0) - 1
    }
  }
  takeFrom((index) => !whole.includes(index))
  takeFrom(() => true)
  return widths
}

function longestLine(text: string): number {
  return Math.max(...text.split('\n').map((line) => stringWidth(line)))
}
