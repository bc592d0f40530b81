import { IndentedOutput } from '../../terminal/markdown/indented-output.ts'
import { PlainWriter, type ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import { type Mark, plainStyle, type TextStyle } from '../../terminal/markdown/text-style.ts'
import { mayBreakBetween, WordWrapper } from '../../terminal/markdown/word-wrapper.ts'
import type { Screen, Terminal } from '../../terminal/screen/screen.ts'
import { ControlStripper } from '../../terminal/strip-controls.ts'

interface DisplayOptions {
  screen: Screen
  terminal: Terminal
  writer: ReplyWriter
  /** Called before a part of the text is shown. */
  beforeShown(): void
}

/** Shows nothing. */
export const silentWriter: ReplyWriter = { push: () => '', end: () => '' }

/**
 * Shows a reply, or its reasoning, while it arrives. Pieces that arrive together are shown together; the
 * first is shown immediately.
 */
export class ReplyDisplay {
  #hasBegun = false
  readonly #options: DisplayOptions
  #writer: ReplyWriter
  #pending = ''
  #scheduled = false

  constructor(options: DisplayOptions) {
    this.#options = options
    this.#writer = options.writer
  }

  /** @returns a promise to await if the terminal is slower than the service */
  add(piece: string): Promise<void> | undefined {
    this.#pending += piece
    if (!this.#hasBegun) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.flush()
      })
    }
    return this.#options.terminal.drained()
  }

  /** Shows the rest, and ends the line. Pieces that are added later are not shown. */
  end(): void {
    this.flush()
    this.#options.screen.append(this.#writer.end())
    this.#writer = silentWriter
  }

  /** Shows the pieces so far. */
  flush(): void {
    if (this.#pending === '') return
    const piece = this.#pending
    this.#pending = ''
    this.#hasBegun = true
    const { screen, beforeShown } = this.#options
    beforeShown()
    screen.append(this.#writer.push(piece))
  }
}

const dimmed: readonly Mark[] = ['dim']

/** Maximum number of characters of a word that is held back until it is complete. */
const maxWordLength = 200

/** Reasoning as it arrives, dimmed and with a bar, so that it differs from the reply also without color. */
export class ReasoningWriter implements ReplyWriter {
  readonly #stripper = new ControlStripper()
  readonly #output: IndentedOutput
  readonly #wrapper: WordWrapper
  /** The beginning of a word that may continue. */
  #word = ''
  #hasShown = false

  constructor(screen: { readonly columns: number }, style: TextStyle) {
    const formatting = { style: { ...plainStyle, dim: style.dim } }
    this.#output = new IndentedOutput(() => screen.columns, formatting)
    this.#output.open({ kind: 'quote' })
    this.#wrapper = new WordWrapper(() => this.#output.room, this.#output, formatting)
  }

  push(text: string): string {
    return this.#write(this.#stripper.push(text), false)
  }

  /** Leaves an empty line before the reply. */
  end(): string {
    const rest = this.#write(this.#stripper.end(), true)
    this.#output.endLine()
    return this.#hasShown ? `${rest}${this.#output.take()}\n` : ''
  }

  #write(text: string, isLast: boolean): string {
    const arrived = this.#word + text
    const end = isLast ? arrived.length : endOfWords(arrived)
    this.#word = arrived.slice(end)
    this.#wrapper.add([{ text: arrived.slice(0, end), marks: dimmed }])
    const shown = this.#output.take()
    this.#hasShown ||= shown !== ''
    return shown
  }
}

/** The index at which an unfinished word begins. */
function endOfWords(text: string): number {
  const first = Math.max(0, text.length - maxWordLength)
  for (let at = text.length; at > first; at--) {
    const before = text.charAt(at - 1)
    if (/\s/.test(before) || mayBreakBetween(before, text.charAt(at))) return at
  }
  return first === 0 ? 0 : text.length
}

/** Reasoning as it arrives, between two lines that say what it is. */
export class PlainReasoningWriter implements ReplyWriter {
  readonly #writer = new PlainWriter()
  #hasShown = false

  push(text: string): string {
    const shown = this.#writer.push(text)
    if (shown === '' || this.#hasShown) return shown
    this.#hasShown = true
    return `[reasoning]\n${shown.trimStart()}`
  }

  end(): string {
    return this.#hasShown ? `${this.#writer.end()}[end of reasoning]\n` : ''
  }
}
