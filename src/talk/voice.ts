import wrapAnsi from 'wrap-ansi'
import type { Failure } from '../contract/failure.ts'
import type { Screen } from '../terminal/screen/screen.ts'
import { stripControls } from '../terminal/strip-controls.ts'
import { describeDetails } from '../view/failure-details.ts'
import type { SessionOptions, SessionStyle } from './session-options.ts'

/** What the program itself says in a session. What it quotes cannot steer the terminal. */
export class Voice {
  readonly #screen: Screen
  readonly #style: SessionStyle
  readonly #isQuiet: boolean
  readonly #hintOf: SessionOptions['hintOf']

  constructor(
    screen: Screen,
    style: SessionStyle,
    { isQuiet, hintOf }: Pick<SessionOptions, 'isQuiet' | 'hintOf'>,
  ) {
    this.#screen = screen
    this.#style = style
    this.#isQuiet = isQuiet
    this.#hintOf = hintOf
  }

  /** What was asked for, in whole lines. */
  say(text: string): void {
    this.#screen.appendLines(this.#wrap(text))
  }

  /** What is good to know. */
  note(text: string): void {
    if (this.#isQuiet) return
    const lines = this.#wrap(text).split('\n')
    this.#screen.appendLines(lines.map((line) => (line === '' ? '' : this.#style.dim(line))).join('\n'))
  }

  /** @param hint where the failure has none of its own */
  sayFailure(failure: Failure, hint?: string): void {
    const words = this.#wrap(`Error: ${failure.message}`)
    this.#screen.appendLines(words.replace(/^Error:/, this.#style.red('Error:')))
    const details = describeDetails(failure)
    if (details !== undefined) this.say(details)
    const next = this.#hintOf(failure) ?? hint
    if (next) this.say(`Hint: ${next}`)
  }

  #wrap(text: string): string {
    const lines = stripControls(text).split('\n')
    return lines.map((line) => wrapLine(line, this.#screen.columns)).join('\n')
  }
}

/** What is wrapped is indented as the line was. */
function wrapLine(line: string, columns: number): string {
  const [indent = ''] = /^ */.exec(line) ?? []
  const width = Math.max(1, columns - indent.length)
  return wrapAnsi(line.slice(indent.length), width, { hard: true }).replaceAll(/^/gm, indent)
}
