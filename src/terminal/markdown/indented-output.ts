import type { Container } from './line-start.ts'
import type { Formatting } from './text-style.ts'
import type { LineOutput } from './word-wrapper.ts'

interface Level {
  container: Container
  /** Whether the marker of a list item is not written yet. */
  isNew: boolean
}

/** Collects rendered lines, with the margins of their quotes and lists. Written text never changes. */
export class IndentedOutput implements LineOutput {
  #formatting: Formatting
  #width: () => number
  #levels: Level[] = []
  #out = ''
  #hasShown = false
  #isInLine = false
  /** Empty lines, written only if text follows. */
  #gap = ''

  /** @param width in columns, which may change */
  constructor(width: () => number, formatting: Formatting) {
    this.#width = width
    this.#formatting = formatting
  }

  /** The output since the last call. */
  take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }

  get containers(): readonly Container[] {
    return this.#levels.map(({ container }) => container)
  }

  get depth(): number {
    return this.#levels.length
  }

  open(container: Container): void {
    this.#levels.push({ container, isNew: true })
  }

  /** Closes all containers except the outermost `count`. A list item without text is shown empty. */
  keep(count: number): void {
    if (count >= this.#levels.length) return
    if (this.#levels.slice(count).some(({ isNew, container }) => isNew && container.kind === 'item')) {
      this.endLine()
      this.write('')
      this.endLine()
    }
    this.#levels.length = count
  }

  /** Columns for text inside the containers. */
  get room(): number {
    return Math.max(2, this.#width() - this.#shownLevels().reduce((sum, level) => sum + widthOf(level), 0))
  }

  write(text: string): void {
    if (!this.#isInLine) {
      this.#out += this.#gap
      this.#gap = ''
      for (const level of this.#shownLevels()) this.#out += this.#margin(level)
      for (const level of this.#levels) level.isNew = false
      this.#isInLine = true
      this.#hasShown = true
    }
    this.#out += text
  }

  /** Writes a line without margins. Only the marker of a new list item appears before it. */
  writeBare(line: string): void {
    if (this.#levels.some(({ isNew, container }) => isNew && container.kind === 'item')) this.write('')
    this.endLine()
    for (const level of this.#levels) level.isNew = false
    this.#out += `${this.#gap}${line}\n`
    this.#gap = ''
    this.#hasShown = true
  }

  newLine(): void {
    if (!this.#isInLine) {
      this.leaveLine()
      return
    }
    this.#out += '\n'
    this.#isInLine = false
  }

  endLine(): void {
    if (this.#isInLine) this.newLine()
  }

  /** Leaves a line empty. */
  leaveLine(): void {
    if (!this.#hasShown || this.#levels.some(({ isNew }) => isNew)) return
    this.#gap += `${this.#shownLevels()
      .map((level) => this.#margin(level))
      .join('')
      .trimEnd()}\n`
  }

  /** Leaves exactly one empty line before the next text. */
  separate(): void {
    this.endLine()
    if (this.#gap === '') this.leaveLine()
  }

  /** In a narrow terminal, outer margins are omitted, so that half of the width remains for text. */
  #shownLevels(): Level[] {
    let width = 0
    let from = this.#levels.length
    for (; from > 0; from--) {
      const level = this.#levels[from - 1]
      width += level === undefined ? 0 : widthOf(level)
      if (width > this.#width() / 2) break
    }
    return this.#levels.slice(Math.min(from, Math.max(0, this.#levels.length - 1)))
  }

  #margin({ container, isNew }: Level): string {
    const { style } = this.#formatting
    if (container.kind === 'quote') return `${style.dim('│')} `
    if (!isNew) return ' '.repeat(markerOf(container).length + 1)
    const marker = markerOf(container)
    return `${container.isTask && marker !== '[ ]' ? style.green(marker) : marker} `
  }
}

function widthOf({ container }: Level): number {
  return container.kind === 'quote' ? 2 : markerOf(container).length + 1
}

function markerOf({
  marker,
  isOrdered,
  isTask,
}: {
  marker: string
  isOrdered: boolean
  isTask: boolean
}): string {
  return isOrdered || isTask ? marker : '•'
}
