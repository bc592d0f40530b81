/** Characters of a line by which it is told at the latest. */
const enough = 64 * 1024

const fields = ['data', 'event', 'id', 'retry']

/** Tells server-sent events by a `data` line that only comments and other fields come before. */
export class EventLines {
  /** How the line that is not over begins: no more of it tells. */
  #head = ''
  #length = 0

  /** @returns undefined while more is needed */
  push(text: string, ended: boolean): 'events' | 'text' | undefined {
    const lines = text.split(/\r\n|\n|\r/)
    const last = lines.pop() ?? ''
    for (const line of lines) {
      const head = this.#head + line.slice(0, 8)
      this.#head = ''
      this.#length = 0
      if (/^data(:|$)/.test(head)) return 'events'
      if (head !== '' && !/^(:|event:|id:|retry:)/.test(head)) return 'text'
    }
    if (this.#head.length < 8) this.#head += last.slice(0, 8)
    this.#length += last.length
    if (this.#head.startsWith('data:')) return 'events'
    const undecided =
      /^(:|event:|id:|retry:)/.test(this.#head) || fields.some((field) => field.startsWith(this.#head))
    return undecided && !ended && this.#length < enough ? undefined : 'text'
  }
}
