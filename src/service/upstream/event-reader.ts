import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { unusable } from './upstream-refusal.ts'

/** Makes events of the bytes of a stream, wherever these are cut. */
export class EventReader {
  readonly #parser: EventSourceParser
  readonly #decoder = new TextDecoder()
  #arrived: EventSourceMessage[] = []
  #isTooLong = false

  /** @param longest the most that is kept of one event, in characters */
  constructor(longest: number) {
    this.#parser = createParser({
      onEvent: (event) => this.#arrived.push(event),
      onError: ({ type, field, value, line = '' }) => {
        this.#isTooLong ||= type === 'max-buffer-size-exceeded'
        if (type !== 'unknown-field') return
        // llama.cpp has sent `error: {…}` as a field; other servers end with the body of an error.
        const words = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
        if (words !== undefined) this.#arrived.push({ event: 'error', data: words, id: undefined })
      },
      maxBufferSize: longest,
    })
  }

  /** The events that these bytes complete. @throws Refusal `upstream_error` for one that is too long */
  read(bytes: Uint8Array): EventSourceMessage[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }))
  }

  /** A last event that no blank line ended: some servers forget it after `[DONE]`. */
  end(): EventSourceMessage[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`)
  }

  #feed(text: string): EventSourceMessage[] {
    this.#parser.feed(text)
    if (this.#isTooLong) throw unusable('sent an event that is too long')
    const arrived = this.#arrived
    if (arrived.length > 0) this.#arrived = []
    return arrived
  }
}
