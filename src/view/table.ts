import stringWidth from 'string-width'
import type { Grid } from './view.ts'

export interface TableStyle {
  /** Columns of the terminal; what is longer wraps. */
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
} // prettier-ignore

/** A table without frames, as wide as the terminal at most; the last columns give way first. */
export async function renderTable({ header, rows }: Grid, style: TableStyle): Promise<string> {
  if (rows.length === 0) return ''
  const { default: Table } = await import('cli-table3')
  const natural = header.map((name, index) =>
    Math.max(stringWidth(name), ...rows.map((row) => longestLine(row[index] ?? ''))),
  )
  const table = new Table({
    head: header.map((name) => style.bold(name.toUpperCase())),
    chars: noFrame,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: shrinkToFit(natural, style.width),
    wordWrap: true,
    wrapOnWordBoundary: false,
  })
  table.push(...rows.map((row) => [...row]))
  const lines = table.toString().split('\n')
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

const gap = 2
const narrowest = 8

/** Takes width from the widest column, one at a time, until all fit. */
function shrinkToFit(natural: readonly number[], width: number): number[] {
  const widths = [...natural]
  const total = (): number => widths.reduce((sum, one) => sum + one + gap, -gap)
  while (total() > width) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= narrowest) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function longestLine(text: string): number {
  return Math.max(...text.split('\n').map((line) => stringWidth(line)))
}
