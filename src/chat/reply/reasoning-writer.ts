import { IndentedOutput } from '../../terminal/markdown/indented-output.ts'
import { PlainWriter, type ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import { type Mark, plainStyle, type TextStyle } from '../../terminal/markdown/text-style.ts'
import { mayBreakBetween, WordWrapper } from '../../terminal/markdown/word-wrapper.ts'
import { ControlStripper } from '../../terminal/strip-controls.ts'

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
