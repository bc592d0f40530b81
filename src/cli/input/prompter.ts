import type { SessionList } from '../../chat/session-options.ts'
import type { TranscriptSummary } from '../../chat/transcript/transcript.ts'
import { Failure } from '../../contract/failure.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { wrapWords } from '../../view/format/wrap-words.ts'
import { Interruption } from '../context/interruption.ts'
import type { Streams } from '../output/streams.ts'

/** Prompts on stderr. In a non-interactive run, fails and names the flag that replaces the prompt. */
export class Prompter {
  readonly #noInput: boolean
  readonly #streams: Streams

  constructor(streams: Streams, { noInput }: { noInput: boolean }) {
    this.#noInput = noInput
    this.#streams = streams
  }

  /** @throws Failure `input_needed` in a non-interactive run, naming `instead` */
  async askSecret(question: string, instead: string): Promise<string> {
    this.#demand(question, instead)
    const { password } = await import('@inquirer/prompts')
    return this.#ask((context) => password({ message: question, mask: false, toggleMask: false }, context))
  }

  /**
   * Prompts until the text is valid.
   * @param read throws for an invalid text
   * @throws Failure `input_needed` in a non-interactive run, naming `instead`
   */
  async askText(
    question: string,
    instead: string,
    read: (text: string) => unknown = () => undefined,
  ): Promise<string> {
    this.#demand(question, instead)
    const { input } = await import('@inquirer/prompts')
    const validate = (text: string) => {
      try {
        if (text.trim() === '') return 'A value is required.'
        read(text.trim())
        return true
      } catch (error) {
        return (error as Error).message
      }
    }
    const text = await this.#ask((context) => input({ message: question, validate }, context))
    return text.trim()
  }

  /** Only for interactive runs. @returns undefined for an empty text */
  async askOptional(question: string): Promise<string | undefined> {
    const { input } = await import('@inquirer/prompts')
    const text = await this.#ask((context) => input({ message: question }, context))
    return text.trim() || undefined
  }

  /** @param choices values by their labels @throws Failure `input_needed` in a non-interactive run, naming `instead` */
  async choose<T>(question: string, choices: Record<string, T>, instead: string): Promise<T> {
    this.#demand(question, instead)
    const { select } = await import('@inquirer/prompts')
    const list = Object.entries(choices).map(([name, value]) => ({ name, value }))
    return this.#ask((context) => select({ message: question, choices: list }, context))
  }

  /**
   * @returns undefined if the user leaves
   * @throws Failure `input_needed` in a non-interactive run, with `instead` and the command that lists the sessions
   */
  async pick(
    message: string,
    list: SessionList,
    instead = 'List them',
  ): Promise<TranscriptSummary | undefined> {
    this.#demand(message, 'chatctl chat sessions', instead)
    const { listPrompt } = await import('./list-prompt.ts')
    const config = { message, list, output: this.#streams.host.stderr }
    try {
      return await this.#ask((context) => listPrompt(config, { ...context, clearPromptOnDone: true }))
    } catch (error) {
      if (error instanceof Interruption && !this.#streams.signal.aborted) return undefined
      throw error
    }
  }

  /** Whether prompts are possible. */
  get canAsk(): boolean {
    return !this.#noInput && this.#streams.isInteractive
  }

  /** @throws Failure `declined` for no, `input_needed` in a non-interactive run; `hint` replaces --yes */
  async confirm(question: string, declined = 'Nothing was changed', hint?: string): Promise<void> {
    this.#demand(question, '--yes', 'Confirm', hint)
    const { confirm } = await import('@inquirer/prompts')
    const message = this.#wrap(question)
    const agreed = await this.#ask((context) => confirm({ message, default: false }, context))
    if (!agreed) throw new Failure('declined', declined)
  }

  /** Only for interactive runs. The default is yes. */
  async agree(question: string): Promise<boolean> {
    const { confirm } = await import('@inquirer/prompts')
    return this.#ask((context) => confirm({ message: this.#wrap(question) }, context))
  }

  /** The prompt breaks lines within words. */
  #wrap(question: string): string {
    return wrapWords(question, (this.#streams.host.stderr.columns || 80) - '?  (y/N) '.length)
  }

  #demand(question: string, instead: string, verb = 'Provide it', hint = `${verb} with ${instead}`): void {
    if (this.canAsk) return
    const { stdin } = this.#streams.host.isTerminal
    const why = this.#noInput ? '--no-input is set' : `${stdin ? 'stderr' : 'stdin'} is not a terminal`
    const label = question.endsWith(':') ? question.slice(0, -1) : undefined
    const need = label ?? (verb === 'Confirm' ? 'Confirmation' : 'A choice')
    const asked = label === undefined ? `: ${question}` : ''
    const message = `${need} is required, and chatctl cannot prompt because ${why}${asked}`
    throw new Failure('input_needed', message, { hint })
  }

  async #ask<T>(
    prompt: (context: {
      input: NodeJS.ReadStream
      output: NodeJS.WriteStream
      signal: AbortSignal
    }) => Promise<T>,
  ): Promise<T> {
    try {
      const { signal, host } = this.#streams
      const { stdin: input, stderr: output } = host
      return await unlessAborted(prompt({ input, output, signal }), signal)
    } catch (error) {
      // In raw mode, the prompt reads Ctrl-C itself, and no signal is sent.
      throw /^(Exit|Abort)PromptError$/.test((error as Error).name) ? new Interruption('SIGINT') : error
    }
  }
}
