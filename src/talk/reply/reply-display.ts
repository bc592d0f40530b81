import type { ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import type { Screen } from '../../terminal/screen/screen.ts'
import type { Terminal } from '../../terminal/screen/terminal.ts'

interface DisplayOptions {
  screen: Screen
  terminal: Terminal
  writer: ReplyWriter
  /** Records a piece of the reply, before it is shown. */
  record(text: string): void
}

/** Shows nothing. */
export const silentWriter: ReplyWriter = { push: () => '', end: () => '' }

/**
 * Shows a reply, or its reasoning, while it arrives. Each piece is recorded before it is shown. Pieces
 * that arrive together are recorded and shown together; the first is shown at once.
 */
export class ReplyDisplay {
  /** The whole text so far. */
  text = ''
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
    const first = this.text === ''
    this.text += piece
    this.#pending += piece
    if (first) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.flush()
      })
    }
    return this.#options.terminal.drained()
  }

  /** Shows the rest, and ends the line. Pieces that are added later are recorded, but not shown. */
  end(): void {
    this.flush()
    this.#options.screen.append(this.#writer.end())
    this.#writer = silentWriter
  }

  /** Records and shows the pieces so far. */
  flush(): void {
    if (this.#pending === '') return
    const piece = this.#pending
    this.#pending = ''
    const { screen, record } = this.#options
    record(piece)
    screen.append(this.#writer.push(piece))
  }
}
