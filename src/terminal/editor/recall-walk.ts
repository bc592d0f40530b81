import { splitGraphemes } from './graphemes.ts'
import type { Recall } from './recall.ts'
import type { BufferState, TextBuffer } from './text-buffer.ts'

/**
 * Goes back and forth through the entries. What is left behind at each of them, the draft above
 * all, is there again on the way back.
 */
export class RecallWalk {
  readonly #recall: Recall
  readonly #buffer: TextBuffer
  /** By the index of the entry; the draft has the one after the last. */
  #left = new Map<number, BufferState>()
  #entries: readonly string[] = []
  #index: number | undefined

  constructor(recall: Recall, buffer: TextBuffer) {
    this.#recall = recall
    this.#buffer = buffer
  }

  /** @returns false where there is no older entry, or no newer one */
  step(direction: 'older' | 'newer'): boolean {
    if (this.#index === undefined) this.#entries = [...this.#recall.entries]
    const index = this.#index ?? this.#entries.length
    const next = direction === 'older' ? index - 1 : index + 1
    if (next < 0 || next > this.#entries.length) return false
    this.#left.set(index, this.#buffer.state)
    this.#index = next
    const { units, cursor } = this.#left.get(next) ?? stateOf(this.#entries[next] ?? '')
    // At the end of an entry one more Down goes on; the draft is as it was.
    this.#buffer.restore({ units, cursor: next === this.#entries.length ? cursor : units.length })
    return true
  }

  /** The next step begins at the newest entry again. */
  end(): void {
    this.#index = undefined
    this.#left = new Map()
  }
}

function stateOf(text: string): BufferState {
  const units = splitGraphemes(text)
  return { units, cursor: units.length }
}
