import type { IndentedOutput } from './indented-output.ts'
import { inlineRunsOf } from './inline-runs.ts'
import { type Formatting, type Mark, unmarked } from './text-style.ts'
import { WordWrapper } from './word-wrapper.ts'

/** Number of rows, and of UTF-16 units, after which the widths are fixed and each row is shown immediately. */
const streamed = { rows: 3, text: 16_384 }
/** The same if the whole reply is known. The rows are rendered together, which must not take long. */
const whole = { rows: Number.POSITIVE_INFINITY, text: 65_536 }
/** Minimum width of a readable column. */
const narrowest = 10
/** Minimum width of each column while rows may follow. */
const leastGrowth = 4
const gap = 3
const bold: readonly Mark[] = ['bold']

interface CellLine {
  text: string
  width: number
}

/**
 * A table that fits into the width, with wrapped cells. Its first rows determine the widths, with some
 * room for longer cells, so that each further row is shown as soon as it arrives. In a whole reply, all
 * rows do. If not even narrow columns fit, each row is shown as a list of cells, each after the name of
 * its column.
 */
export class TableBlock {
  #output: IndentedOutput
  #formatting: Formatting
  #names: string[]
  #alignments: readonly Alignment[]
  #enough: typeof streamed
  #waiting: string[][] = []
  #length = 0
  /** Unwrapped width of each column in the rows so far. */
  #natural: number[] = []
  /** Widths of the columns, once they are fixed; empty for a list. */
  #widths: number[] | undefined
  /** The room for which they were computed. */
  #room = 0
  #hasRows = false

  constructor(
    header: string,
    alignments: readonly Alignment[],
    output: IndentedOutput,
    formatting: Formatting & { isWhole?: boolean },
  ) {
    this.#enough = formatting.isWhole ? whole : streamed
    this.#output = output
    this.#formatting = formatting
    this.#names = splitRow(header)
    this.#alignments = alignments
    this.#length = header.length
  }

  add(row: string): void {
    const cells = splitRow(row)
    const count = this.#names.length
    // Cells beyond the last column are joined to it, so that none is lost.
    if (cells.length > count) cells.push(cells.splice(count - 1).join(' | '))
    this.#waiting.push(cells)
    this.#length += row.length
    const { rows, text } = this.#enough
    if (this.#widths || this.#waiting.length >= rows || this.#length >= text) this.#show(true)
  }

  /** Ends the table, and shows the remaining rows. */
  end(): void {
    if (this.#widths === undefined || this.#waiting.length > 0) this.#show(false)
  }

  /** Shows the waiting rows. After a resize, it shows the header again in the new widths. */
  #show(mayGoOn: boolean): void {
    const isFitted = this.#widths !== undefined && this.#output.room === this.#room
    const widths = isFitted && this.#widths ? this.#widths : this.#fit(mayGoOn)
    this.#widths = widths
    this.#hasRows ||= this.#waiting.length > 0
    const isTable = widths.length > 0
    if (!isFitted && isTable) this.#showHeader(widths)
    if (!isTable && !this.#hasRows) this.#showList([])
    for (const cells of this.#waiting.filter((row) => row.some((cell) => cell !== ''))) {
      if (isTable) this.#showRow(cells, widths, unmarked)
      else this.#showList(cells)
    }
    this.#waiting = []
  }

  #fit(mayGoOn: boolean): number[] {
    const natural = this.#names.map((name, index) =>
      Math.max(this.#natural[index] ?? 0, widest(this.#wrap(name, Number.POSITIVE_INFINITY, bold))),
    )
    for (const cells of this.#waiting) {
      for (const [index, cell] of cells.entries()) {
        const width = widest(this.#wrap(cell, Number.POSITIVE_INFINITY, unmarked))
        natural[index] = Math.max(natural[index] ?? 0, width)
      }
    }
    this.#natural = natural
    this.#room = this.#output.room
    const room = this.#room - gap * (natural.length - 1)
    const limit = widestColumn(natural, room)
    if (limit < narrowest) return []
    const widths = natural.map((width) => Math.max(1, Math.min(width, limit)))
    if (!mayGoOn) return widths
    const wanted = widths.map((width) => Math.max(leastGrowth, width))
    const growth = widestColumn(wanted, room - widths.reduce((sum, width) => sum + width, 0))
    return widths.map((width, index) => width + Math.max(0, Math.min(wanted[index] ?? 0, growth)))
  }

  #showHeader(widths: readonly number[]): void {
    this.#showRow(this.#names, widths, bold)
    const rule = widths.map((width) => '─'.repeat(width)).join('─┼─')
    this.#put(this.#formatting.style.dim(rule))
  }

  #showRow(cells: readonly string[], widths: readonly number[], marks: readonly Mark[]): void {
    const wrapped = widths.map((width, index) => this.#wrap(cells[index] ?? '', width, marks))
    const height = wrapped.reduce((most, lines) => Math.max(most, lines.length), 1)
    // Spaces outside the style, so that they can be trimmed.
    const bar = ` ${this.#formatting.style.dim('│')} `
    for (let line = 0; line < height; line++) {
      const parts = wrapped.map((lines, index) => this.#align(lines[line], widths[index] ?? 0, index))
      this.#put(parts.join(bar).trimEnd())
    }
  }

  #align(line: CellLine | undefined, width: number, column: number): string {
    const { text, width: taken } = line ?? { text: '', width: 0 }
    const space = width - taken
    const alignment = this.#alignments[column]
    const before = alignment === 'right' ? space : alignment === 'center' ? Math.floor(space / 2) : 0
    return ' '.repeat(before) + text + ' '.repeat(space - before)
  }

  #showList(cells: readonly string[]): void {
    for (const [index, name] of this.#names.entries()) {
      const wrapper = new WordWrapper(() => this.#output.room, this.#output, this.#formatting)
      this.#read(`${name}:`, bold, wrapper)
      this.#read(` ${cells[index] ?? ''}`, unmarked, wrapper)
      this.#output.endLine()
    }
    this.#output.leaveLine()
  }

  #wrap(cell: string, width: number, marks: readonly Mark[]): CellLine[] {
    const lines: CellLine[] = [{ text: '', width: 0 }]
    const wrapper = new WordWrapper(
      () => width,
      {
        write: (text, columns) => {
          const last = lines.at(-1)
          if (!last) return
          last.text += text
          last.width += columns
        },
        newLine: () => lines.push({ text: '', width: 0 }),
      },
      this.#formatting,
    )
    this.#read(cell, marks, wrapper)
    return lines
  }

  /** In cells a line is broken by a tag. */
  #read(cell: string, marks: readonly Mark[], wrapper: WordWrapper): void {
    for (const [index, line] of cell.split(/<br ?\/?>/i).entries()) {
      if (index > 0) wrapper.add([{ text: '\n', marks }])
      wrapper.add(inlineRunsOf(index > 0 ? line.trim() : line, marks, this.#formatting))
    }
  }

  #put(text: string): void {
    this.#output.write(text)
    this.#output.newLine()
  }
}

function widest(lines: readonly CellLine[]): number {
  return lines.reduce((most, { width }) => Math.max(most, width), 0)
}

/**
 * Narrows the widest columns until all fit. Narrow columns keep their width.
 * @param natural unwrapped width of each column
 * @param room total width
 * @returns the maximum width of a column
 */
function widestColumn(natural: readonly number[], room: number): number {
  let left = room
  const sorted = natural.toSorted((a, b) => a - b)
  for (const [index, width] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (width > share) return share
    left -= width
  }
  return Number.POSITIVE_INFINITY
}

type Alignment = 'left' | 'center' | 'right'

/** The cells of a row (GFM 4.10). A bar after a backslash is text. */
export function splitRow(row: string): string[] {
  const text = row.trim()
  const cells: string[] = []
  let cell = ''
  for (let at = text.startsWith('|') ? 1 : 0; at < text.length; at++) {
    const unit = text.charAt(at)
    if (unit === '\\' && text.charAt(at + 1) === '|') {
      cell += '|'
      at++
    } else if (unit === '\\') {
      cell += unit + text.charAt(at + 1)
      at++
    } else if (unit === '|') {
      cells.push(cell.trim())
      cell = ''
    } else {
      cell += unit
    }
  }
  if (cell.trim() !== '') cells.push(cell.trim())
  return cells
}

/** The alignments from the delimiter row under the header. Undefined for any other row. */
export function readDelimiters(row: string): Alignment[] | undefined {
  if (!row.includes('-') || !/^[|:\- ]+$/.test(row)) return undefined
  const cells = splitRow(row)
  if (cells.some((cell) => !/^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left'))
}
