import wrapAnsi from 'wrap-ansi'
import type { Failure } from '../contract/failure.ts'
import { splitFiles, type TextFile } from '../contract/resources/file-block.ts'
import type { ReplyWriter } from '../terminal/markdown/plain-writer.ts'
import type { TextStyle } from '../terminal/markdown/text-style.ts'
import type { Screen } from '../terminal/screen/screen.ts'
import { stripControls } from '../terminal/strip-controls.ts'
import { describeDetails } from '../view/failure-details.ts'
import { describeFiles } from './attachments.ts'

interface SessionOutputOptions {
  screen: Screen
  style: TextStyle
  /** Omit notes. */
  isQuiet: boolean
  createWriter(): ReplyWriter
  describeFailure(failure: Failure): { message: string; hint: string | undefined }
}

/** Shows everything in a session but a reply that is arriving. Quoted text cannot steer the terminal. */
export class SessionOutput {
  readonly #options: SessionOutputOptions

  constructor(options: SessionOutputOptions) {
    this.#options = options
  }

  /** Shows text in whole lines, also with --quiet. */
  show(text: string): void {
    this.#options.screen.appendLines(this.#wrap(text))
  }

  /** Shows additional information; nothing with --quiet. */
  note(text: string): void {
    const { isQuiet, screen, style } = this.#options
    if (isQuiet) return
    const lines = this.#wrap(text).replaceAll('\u00a0', ' ').split('\n')
    screen.appendLines(lines.map((line) => (line === '' ? '' : style.dim(line))).join('\n'))
  }

  /** @param hint shown if the failure has none */
  showFailure(failure: Failure, hint?: string): void {
    const { screen, style, describeFailure } = this.#options
    const described = describeFailure(failure)
    const words = this.#wrap(`Error: ${described.message}`)
    screen.appendLines(words.replace(/^Error:/, style.red('Error:')))
    const details = describeDetails(failure)
    if (details !== undefined) this.show(details)
    const next = described.hint ?? hint
    if (next) this.show(`Hint:  ${next}`)
  }

  /** Shows a prompt as it looked when it was typed, with a number if it has one, and the names of its files. */
  showPrompt(prompt: string, number?: number): void {
    const { files, text } = splitFiles(prompt)
    this.show(`${number ?? ''}> ${text.replaceAll('\n', '\n  ')}`)
    this.showFiles(files)
  }

  /** Shows which files a message has, also with --quiet. */
  showFiles(files: readonly TextFile[]): void {
    if (files.length > 0) this.show(`[with ${describeFiles(files)}]`)
  }

  showReply(text: string): void {
    const { screen, createWriter } = this.#options
    const writer = createWriter()
    screen.append(writer.push(text) + writer.end())
  }

  /** Leaves a blank line before whatever is shown next. */
  separate(): void {
    this.#options.screen.separate()
  }

  #wrap(text: string): string {
    const lines = stripControls(text).split('\n')
    return lines.map((line) => wrapLine(line, this.#options.screen.columns)).join('\n')
  }
}

/** Continuation lines keep the indent of the line. */
function wrapLine(line: string, columns: number): string {
  const [indent = ''] = /^ */.exec(line) ?? []
  const width = Math.max(1, columns - indent.length)
  return wrapAnsi(line.slice(indent.length), width, { hard: true }).replaceAll(/^/gm, indent)
}
