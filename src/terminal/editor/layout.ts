import type { EditorStyle } from './completer.ts'
import { showGrapheme, type TextUnit, widthOf } from './graphemes.ts'
import type { BufferState } from './text-buffer.ts'

/** The beginning of a row: a unit, and an offset in its label. */
interface RowStart {
  unit: number
  offset: number
}

/** A text that is wrapped at a width, between any two graphemes. */
export class Layout {
  readonly #units: readonly TextUnit[]
  readonly #width: number
  readonly #starts: RowStart[] = [{ unit: 0, offset: 0 }]

  /** @param width columns of the text, without the prompt and without one for the cursor after it */
  constructor(units: readonly TextUnit[], width: number) {
    this.#units = units
    this.#width = width
    let column = 0
    for (let unit = 0; unit < units.length; unit++) {
      const one = units[unit] ?? ''
      if (one === '\n') {
        this.#starts.push({ unit: unit + 1, offset: 0 })
        column = 0
        continue
      }
      const cells = typeof one === 'string' ? 1 : one.label.length
      for (let offset = 0; offset < cells; offset++) {
        const cell = typeof one === 'string' ? this.#widthOf(one) : 1
        if (column + cell > width) {
          this.#starts.push({ unit, offset })
          column = 0
        }
        column += cell
      }
    }
  }

  /** Number of rows, at least one. */
  get rows(): number {
    return this.#starts.length
  }

  /** The position of the cursor before a unit, without the prompt. At a wrap, it is on the second row. */
  placeOf(index: number) {
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const start = this.#starts[middle]
      if (start && (start.unit < index || (start.unit === index && start.offset === 0))) low = middle
      else high = middle - 1
    }
    const { unit, offset } = this.#start(low)
    let column = -offset
    for (let at = unit; at < index; at++) column += this.#widthOf(this.#units[at] ?? '')
    return { row: low, column }
  }

  /** Index of the unit of a row that is nearest to a column. */
  indexAt(row: number, column: number): number {
    const { unit, offset } = this.#start(row)
    // The cursor position of a label is in the row in which the label begins.
    let index = offset > 0 ? unit + 1 : unit
    let reached = offset > 0 ? this.#widthOf(this.#units[unit] ?? '') - offset : 0
    const end = this.#rowEnd(row)
    while (index < end && this.#units[index] !== '\n') {
      const width = this.#widthOf(this.#units[index] ?? '')
      if (reached + width > column) break
      reached += width
      index++
    }
    return index
  }

  /** The text of a row, with dim labels. */
  show(row: number, style: Pick<EditorStyle, 'dim'>): string {
    const { unit, offset } = this.#start(row)
    const next = this.#starts[row + 1]
    let [line, plain] = ['', '']
    for (let at = unit; at < this.#units.length; at++) {
      if (next && at >= next.unit && !(at === next.unit && next.offset > 0)) break
      const one = this.#units[at] ?? ''
      if (one === '\n') break
      if (typeof one === 'string') {
        plain += this.#show(one)
        continue
      }
      const end = next?.unit === at ? next.offset : undefined
      line += plain + style.dim(one.label.slice(at === unit ? offset : 0, end))
      plain = ''
      if (end !== undefined) break
    }
    return line + plain
  }

  #start(row: number): RowStart {
    return this.#starts[Math.max(0, Math.min(row, this.#starts.length - 1))] ?? { unit: 0, offset: 0 }
  }

  /** The last cursor index of a row. */
  #rowEnd(row: number): number {
    const next = this.#starts[row + 1]
    if (!next) return this.#units.length
    return next.offset > 0 ? next.unit : next.unit - 1
  }

  #widthOf(unit: TextUnit): number {
    if (typeof unit !== 'string') return unit.label.length
    return Math.min(widthOf(unit), this.#width)
  }

  /** A grapheme that is wider than the whole width is shown as `?`. */
  #show(grapheme: string): string {
    if (widthOf(grapheme) <= this.#width) return showGrapheme(grapheme)
    return (grapheme === '\t' ? ' ' : '?').repeat(this.#width)
  }
}

const prompt = '> '

/** Minimum width with which the prompt is shown. */
const minPromptColumns = 6

/** Columns for text. The last one is reserved for the cursor, because many terminals wrap after it. */
export function textWidth(columns: number): number {
  return Math.max(1, columns - gutterWidth(columns) - 1)
}

function gutterWidth(columns: number): number {
  return columns < minPromptColumns ? 0 : prompt.length
}

/**
 * Renders prompt and text in at most `rows` rows that include the cursor. `…` in the margin marks hidden rows.
 * @param room `top` is the first visible row of the last view, kept while the cursor stays visible
 */
export function renderRows(
  text: BufferState,
  room: Record<'columns' | 'rows' | 'top', number>,
  style: Pick<EditorStyle, 'dim'>,
) {
  const layout = new Layout(text.units, textWidth(room.columns))
  const place = layout.placeOf(text.cursor)
  const rows = Math.max(1, Math.min(room.rows, layout.rows))
  const lowest = Math.min(place.row, layout.rows - rows)
  const top = Math.max(place.row - rows + 1, Math.min(room.top, lowest), 0)
  const gutter = gutterWidth(room.columns)
  const more = style.dim('…')
  const lines = Array.from({ length: rows }, (_, index) => {
    const row = top + index
    const hidden = (index === 0 && row > 0) || (index === rows - 1 && row < layout.rows - 1)
    const margin = hidden ? `${more} ` : row === 0 ? prompt : ' '.repeat(gutter)
    return (gutter === 0 ? '' : margin) + layout.show(row, style)
  })
  const column = Math.min(gutter + place.column, Math.max(0, room.columns - 1))
  return { lines, cursor: { row: place.row - top, column }, top }
}
