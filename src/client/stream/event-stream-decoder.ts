import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parseJson, tryParse } from '../../contract/notation/exact-json.ts'
import { type Decoder, isDamagedFrame, isEndName, isReasoningName, type StreamUnit } from './frame.ts'

/** More characters than any event name that means the end. */
const tailLength = 128

/** Names of events that only keep the connection open. */
const keepAliveNames = /^(ping|heartbeat|keep-?alive)$/i

/**
 * Decodes server-sent events. The first event with a part of the reply decides whether the data of all
 * events is JSON or plain text: the text of a model may be `42`, `null`, or `"quoted"`.
 */
export class EventStreamDecoder implements Decoder {
  #data: 'unknown' | 'json' | 'text' = 'unknown'
  #foundJson = false
  #units: StreamUnit[] = []
  #ending = false
  /** The last characters. */
  #tail = ''
  readonly #containsText: (value: unknown) => boolean
  readonly #parser = createParser({
    onEvent: (message) => this.#read(message),
    onError: ({ type, field, value = '', line = '' }) => {
      if (type !== 'unknown-field') return
      // llama.cpp has sent `error: {…}` as a field; other servers end with the body of an error.
      const error = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
      if (error !== undefined) this.#read({ id: undefined, event: 'error', data: error })
      else if (this.#data === 'text' || (this.#data === 'json' ? /[{["<]|^[^:]*$/ : /\{\s*"/).test(line))
        this.#units.push({ type: 'unreadable' })
    },
  })

  /** @param containsText whether a JSON value contains a part of the reply */
  constructor(containsText: (value: unknown) => boolean) {
    this.#containsText = containsText
  }

  push(text: string): StreamUnit[] {
    this.#tail = (this.#tail + text).slice(-tailLength)
    this.#parser.feed(text)
    return this.#units.splice(0)
  }

  /** An event without its blank line is not dispatched by the specification, but used here if it can be read. */
  end(): StreamUnit[] {
    this.#ending = true
    this.#parser.feed('\n\n')
    const name = /(?:^|[\r\n])event: ?([^\r\n]*)[\r\n]*$/.exec(this.#tail)?.[1]
    // The specification ignores an event without data. As the last one, it marks the end by its name.
    if (name !== undefined && isEndName(name)) this.#units.push({ type: 'done' })
    return this.#units.splice(0)
  }

  #read({ event, data }: EventSourceMessage): void {
    if (event !== undefined && keepAliveNames.test(event)) return
    const trimmed = data.trim()
    const named = event === undefined ? {} : { event }
    if (trimmed === '[DONE]') {
      this.#units.push({ type: 'done' })
      return
    }
    if (this.#ending && trimmed !== '' && '[DONE]'.startsWith(trimmed)) {
      this.#units.push({ type: 'unreadable' })
      return
    }
    // In a stream of plain text, only a named event may contain JSON.
    const value = this.#data === 'text' && event === undefined ? undefined : readValue(trimmed)
    const lines = value === undefined && this.#data !== 'text' ? splitLines(trimmed) : undefined
    if (lines) {
      for (const data of lines) this.#read({ id: undefined, event, data })
    } else if (value !== undefined) {
      if (this.#data === 'unknown' && this.#containsText(value)) this.#data = 'json'
      this.#foundJson = true
      this.#units.push({ type: 'json', value, ...named })
    } else if (
      this.#data !== 'text' &&
      ((this.#ending ? /^[{["]/ : /^[{[]\s*["{[]/).test(trimmed) || isDamagedFrame(trimmed))
    ) {
      this.#units.push({ type: 'unreadable' })
    } else if (this.#data !== 'text' && this.#foundJson && keepAliveNames.test(trimmed)) {
      // Keep-alive data between frames of JSON is not a part of the reply.
    } else {
      const isReasoning = event !== undefined && isReasoningName(event)
      if (this.#data === 'unknown' && data !== '' && !isReasoning) this.#data = 'text'
      this.#units.push({ type: 'text', text: data, ...named })
    }
  }
}

/**
 * The parser joins events that a service separates with one line break instead of two. They are split
 * again if each line is a JSON value or `[DONE]`.
 */
function splitLines(data: string): string[] | undefined {
  const lines = data.split('\n')
  const isEach = lines.length > 1 && lines.every((line) => line === '[DONE]' || readValue(line) !== undefined)
  return isEach ? lines : undefined
}

/** Parses an object, array, or string. A number or a word is text. */
export function readValue(text: string): unknown {
  return /^[{["]/.test(text) ? tryParse(text, parseJson) : undefined
}
