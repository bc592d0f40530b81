import { CompletionList } from './completion-list.ts'
import type { EditorOptions } from './editor-options.ts'
import type { TextBuffer } from './text-buffer.ts'

/** What Tab does: asks for completions, puts one in, or has a list to choose from. */
export class Completer {
  readonly #options: EditorOptions
  readonly #buffer: TextBuffer
  #list: CompletionList | undefined
  /** The answer that is awaited; any other key makes it stale. */
  #awaited: symbol | undefined

  constructor(options: EditorOptions, buffer: TextBuffer) {
    this.#options = options
    this.#buffer = buffer
  }

  /** Shown under the text until any other key comes. */
  get list(): CompletionList | undefined {
    return this.#list
  }

  /** @returns false when there is nothing to put in */
  press(step: 1 | -1): boolean {
    if (this.#list) {
      this.#list.cycle(this.#buffer, step)
      return true
    }
    if (this.#awaited) return true
    const completions = this.#options.complete(this.#buffer.lineBefore)
    if (!(completions instanceof Promise)) return this.#take(CompletionList.begin(this.#buffer, completions))
    const awaited = Symbol('completion')
    this.#awaited = awaited
    const settle = (begin: () => CompletionList | boolean) => {
      if (this.#awaited !== awaited) return
      this.#awaited = undefined
      if (this.#take(begin())) this.#options.onChange()
      else this.#options.onEvent({ type: 'bell' })
    }
    completions.then(
      (answer) => settle(() => CompletionList.begin(this.#buffer, answer)),
      () => settle(() => false),
    )
    return true
  }

  /** Another key came: the list goes, and an answer that is still to come is dropped. */
  leave(): void {
    this.#list = undefined
    this.#awaited = undefined
  }

  #take(taken: CompletionList | boolean): boolean {
    this.#list = typeof taken === 'boolean' ? undefined : taken
    return taken !== false
  }
}
