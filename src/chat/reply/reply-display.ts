import type { ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import type { Screen } from '../../terminal/screen/screen.ts'
import type { Terminal } from '../../terminal/screen/terminal.ts'

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
 * first is shown at once.
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
