import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parseJson } from '../../contract/exact-json.ts'
import { isEndName } from './frame.ts'
import type { Decoder, StreamUnit } from './stream-unit.ts'

/** Characters: longer than any name of an event that means the end. */
const tailLength = 128

/** Events that only keep a connection open. */
const aliveNames = /^(ping|heartbeat|keep-?alive)$/i

/**
 * Decodes server-sent events. What their data is, JSON or bare text, is settled by the first
 * event that holds a part of the reply and kept: a model's text may well be `42`, `null` or
 * `"quoted"`.
 */
export class EventStreamDecoder implements Decoder {
  #data: 'unknown' | 'json' | 'text' = 'unknown'
  #foundJson = false
  #units: StreamUnit[] = []
  #ending = false
  /** The end of what came. */
  #tail = ''
  readonly #holdsText: (value: unknown) => boolean
  readonly #parser = createParser({
    onEvent: (message) => this.#read(message),
    onError: ({ type, field, value = '', line = '' }) => {
      if (type !== 'unknown-field') return
      // llama.cpp has sent `error: {…}` as a field; other servers end with the body of an error.
      const words = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
      if (words !== undefined) this.#read({ id: undefined, event: 'error', data: words })
    },
  })

  /** @param holdsText whether a JSON value holds a part of the reply */
  constructor(holdsText: (value: unknown) => boolean) {
    this.#holdsText = holdsText
  }

  push(text: string): StreamUnit[] {
    this.#tail = (this.#tail + text).slice(-tailLength)
    this.#parser.feed(text)
    return this.#units.splice(0)
  }

  /** An event without its blank line was never dispatched, but counts where it can be read. */
  end(): StreamUnit[] {
    this.#ending = true
    this.#parser.feed('\n\n')
    const name = /(?:^|[\r\n])event: ?([^\r\n]*)[\r\n]*$/.exec(this.#tail)?.[1]
    // An event without data is none to the specification, but as the last thing said it says the end.
    if (name !== undefined && isEndName(name)) this.#units.push({ type: 'done' })
    return this.#units.splice(0)
  }

  #read({ event, data }: EventSourceMessage): void {
    if (event !== undefined && aliveNames.test(event)) return
    const trimmed = data.trim()
    const named = event === undefined ? {} : { event }
    if (trimmed === '[DONE]') {
      this.#units.push({ type: 'done' })
      return
    }
    if (this.#ending && trimmed !== '' && '[DONE]'.startsWith(trimmed)) {
      this.#units.push({ type: 'broken' })
      return
    }
    // In a stream of bare text, only an event with a name of its own may carry more.
    const value = this.#data === 'text' && event === undefined ? undefined : readValue(trimmed)
    const row = value === undefined && this.#data !== 'text' ? readRow(trimmed) : undefined
    if (row) {
      for (const data of row) this.#read({ id: undefined, event, data })
    } else if (value !== undefined) {
      if (this.#data === 'unknown' && this.#holdsText(value)) this.#data = 'json'
      this.#foundJson = true
      this.#units.push({ type: 'json', value, ...named })
    } else if (this.#data !== 'text' && (this.#ending ? /^[{["]/ : /^[{[]\s*["{[]/).test(trimmed)) {
      this.#units.push({ type: 'broken' })
    } else if (this.#data === 'unknown' && this.#foundJson && aliveNames.test(trimmed)) {
      // Between frames of JSON it is no part of the reply.
    } else if (this.#data !== 'json' || event !== undefined) {
      if (this.#data === 'unknown' && data !== '') this.#data = 'text'
      this.#units.push({ type: 'text', text: data, ...named })
    }
  }
}

/**
 * Events that a service ends with one line break in place of two are one to the parser: they are
 * told apart again where each line is a value or the marker.
 */
function readRow(data: string): string[] | undefined {
  const lines = data.split('\n')
  const isEach = lines.length > 1 && lines.every((line) => line === '[DONE]' || readValue(line) !== undefined)
  return isEach ? lines : undefined
}

/** An object, array or string; a bare number or word is text. */
function readValue(text: string): unknown {
  if (!/^[{["]/.test(text)) return undefined
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
