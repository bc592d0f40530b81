import stringWidth from 'string-width'
import type { EditorView } from '../editor/completer.ts'
import { truncateToWidth } from '../editor/graphemes.ts'
import type { Report } from '../editor/key.ts'
import type { TextStyle } from '../markdown/text-style.ts'

/** The rows below the text, no wider than the terminal, and the cursor position in them. */
interface Footer {
  lines: readonly string[]
  cursor: { row: number; column: number }
}

/** Synchronized output: a terminal that supports it shows everything in between together, without flicker. */
const beginUpdate = '\u001b[?2026h'
const endUpdate = '\u001b[?2026l'
const eraseBelow = '\u001b[J'
const eraseToEndOfLine = '\u001b[K'

/**
 * The main screen of the terminal: text that is appended and never changed, and below it a footer that
 * is redrawn in place.
 */
export class Screen {
  readonly #terminal: Terminal
  /** The unfinished last line of the text. */
  #line = ''
  #footer: Footer | undefined
  /** Columns of the terminal when the footer was drawn. */
  #drawnColumns = 0
  /** Whether a resized terminal has ended the unfinished line. */
  #endedByResize = false
  /** Whether the last line is empty. */
  #isSeparate = true

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** Usable columns. The last one stays empty, because terminals wrap there in different ways. */
  get columns(): number {
    return this.#terminal.columns - 1
  }

  /** Appends to the text, and keeps the footer below it. */
  append(text: string): void {
    if (text === '') return
    const footer = this.#footer
    const toText = this.#leaveFooter()
    const added = this.#endedByResize ? text.replace(/^\n/, '') : text
    this.#endedByResize = false
    this.#isSeparate = added === '\n' || added.endsWith('\n\n')
    this.#advance(added)
    if (footer) this.#write(toText + eraseBelow + withCarriageReturns(added) + this.#enterFooter(footer))
    else this.#terminal.write(withCarriageReturns(added))
  }

  /** Appends whole lines, and ends an unfinished line before them. */
  appendLines(text: string): void {
    this.endLine()
    this.append(`${text}\n`)
  }

  /** Ends an unfinished line. */
  endLine(): void {
    if (this.#isMidLine) this.append('\n')
  }

  /** Leaves one empty line before the next text. */
  separate(): void {
    if (!this.#isSeparate) this.appendLines('')
  }

  /** Draws the footer, or removes it. */
  show(footer: Footer | undefined): void {
    const isResized = this.#drawnColumns !== this.#terminal.columns
    const back = this.#footer ? this.#leaveFooter() : ''
    // A resized terminal may join wrapped rows again until they are erased.
    const erase = back !== '' && (isResized || !footer) ? eraseBelow : ''
    const text = back + erase + (footer ? this.#enterFooter(footer) : '')
    if (text !== '') this.#write(text)
  }

  /** Turns the footer into text. The next text appears below it. */
  commitFooter(): void {
    const footer = this.#footer
    this.#footer = undefined
    this.#line = ''
    this.#isSeparate = false
    if (!footer) return
    const { lines, cursor } = footer
    const down = lines.length - 1 - cursor.row
    this.#write(`${down > 0 ? `\u001b[${down}B` : ''}\r\n`)
  }

  clear(): void {
    const footer = this.#footer
    this.#footer = undefined
    this.#line = ''
    this.#isSeparate = true
    this.#write('\u001b[H\u001b[2J')
    if (footer) this.show(footer)
  }

  get #isMidLine(): boolean {
    return stringWidth(this.#line) > 0
  }

  #advance(text: string): void {
    const newline = text.lastIndexOf('\n')
    this.#line = newline < 0 ? this.#line + text : text.slice(newline + 1)
  }

  /** Moves from the cursor in the footer to the end of the text. A narrower terminal has wrapped both. */
  #leaveFooter(): string {
    const footer = this.#footer
    this.#footer = undefined
    if (!footer) return ''
    const { columns } = this.#terminal
    const { lines, cursor } = footer
    const above = lines.slice(0, cursor.row).reduce((sum, line) => sum + rowsOf(line, columns), 0)
    // After the last character of a full row, the cursor is still on that row.
    const within = Math.min(Math.floor(cursor.column / columns), rowsOf(lines[cursor.row] ?? '', columns) - 1)
    // After a resize, the end of an unfinished line can be anywhere, so a new line begins.
    if (this.#drawnColumns !== columns) {
      this.#endedByResize = this.#isMidLine
      this.#line = ''
    }
    const column = stringWidth(this.#line)
    const up = above + within + (column > 0 ? 1 : 0)
    return `${up > 0 ? `\u001b[${up}A` : ''}\r${column > 0 ? `\u001b[${column}C` : ''}`
  }

  #enterFooter(footer: Footer): string {
    this.#footer = footer
    this.#drawnColumns = this.#terminal.columns
    const { lines, cursor } = footer
    const begin = this.#isMidLine ? '\r\n' : '\r'
    const drawn = lines.map((line) => `${line}${eraseToEndOfLine}`).join('\r\n')
    const up = lines.length - 1 - cursor.row
    const toCursor = `${up > 0 ? `\u001b[${up}A` : ''}\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`
    return `${begin}${drawn}${eraseBelow}${toCursor}`
  }

  #write(text: string): void {
    this.#terminal.write(`${beginUpdate}${text}${endUpdate}`)
  }
}

/** In raw mode, the terminal does not add the carriage return. */
function withCarriageReturns(text: string): string {
  return text.replaceAll('\n', '\r\n')
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(stringWidth(line) / columns))
}

interface FooterParts {
  status: string | undefined
  /** Submitted texts that are not sent yet. */
  queued: readonly string[]
  /** Undefined if no input is shown. */
  input: { view(columns: number, rows: number): EditorView } | undefined
  columns: number
  rows: number
  style: TextStyle
}

/** Composes the footer: status, queued texts, and input. */
export function composeFooter({
  status,
  queued,
  input,
  columns,
  rows,
  style,
}: FooterParts): Footer | undefined {
  const above = [...(status === undefined ? [] : [status]), ...queued.map((text) => `queued: ${text}`)]
    .slice(0, Math.max(0, rows - 1))
    .map((text) => style.dim(truncateToWidth(text, columns).text))
  const view = input?.view(columns, Math.max(1, rows - above.length))
  if (view) {
    const { row, column } = view.cursor
    return { lines: [...above, ...view.lines], cursor: { row: row + above.length, column } }
  }
  return above.length === 0 ? undefined : { lines: above, cursor: { row: above.length - 1, column: 0 } }
}

/** Receives the events of a terminal. */
export interface TerminalListener {
  /** Typed characters. */
  onInput(text: string): void
  /** The input has ended. */
  onEnd(): void
  /** SIGINT, which in raw mode only another process sends. */
  onInterrupt(): void
  /** The size has changed, or another program has drawn on the screen. */
  onRedraw(): void
  /** Another part of the program shows a line to the user. */
  onLine(text: string): void
}

/** The terminal of a session. `cli/input/session-terminal.ts` implements it. */
export interface Terminal {
  /** Cells. */
  readonly columns: number
  readonly rows: number
  /** Whether the system can suspend a process. */
  readonly canSuspend: boolean
  /** Whether this process uses it: no other program does, and the process is not suspended. */
  readonly isOpen: boolean
  /** Whether a reply of the terminal to a query is due. */
  readonly awaitsReport: boolean
  write(text: string): void
  /** Resolves when the terminal has taken all output. Undefined if it already has. */
  drained(): Promise<void> | undefined
  /** Starts reading the keyboard. */
  open(listener: TerminalListener): void
  /** Takes a report of the terminal, which arrives in its input. */
  onReport(report: Report): void
  /** Shows in the tab of the terminal, if it can, whether work is in progress. */
  showProgress(isBusy: boolean): void
  /** Draws attention with a notification or the bell, if the window is not in use. */
  notify(text: string): void
  /** Restores the terminal. Resolves when it has. */
  close(): Promise<void>
  /** Lets another program use the terminal. */
  lend<T>(use: () => Promise<T>): Promise<T>
  /** Suspends this process, like Ctrl-Z in a shell. */
  suspend(): Promise<void>
}
