import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parseJson, tryParse } from '../../contract/notation/exact-json.ts'
import type { StreamFormat } from '../../contract/resources/stream-event.ts'
import { hasPart, isReasoningName, readFrame, readTextFrame } from './frame.ts'

/** One unit of a stream, as the format delimits it. */
export type StreamUnit =
  /** `event` is the name of a server-sent event. */
  | { type: 'json'; value: unknown; event?: string | undefined }
  | { type: 'text'; text: string; event?: string | undefined }
  /** The marker `[DONE]`. */
  | { type: 'done' }
  /** A truncated or unreadable unit. */
  | { type: 'unreadable' }

/** Decodes text into units, however the text is split. */
export interface Decoder {
  push(text: string): StreamUnit[]
  /** Returns the units of an unterminated end. */
  end(): StreamUnit[]
}

/** The format of a stream, or `page` for a web page. */
export type DetectedFormat = Exclude<StreamFormat, 'auto'> | 'page'

/** Maximum number of characters before a decision. */
const maxBeginning = 1024 * 1024

/** Lines of server-sent events that may precede the first `data` line. */
const linesBeforeData = /^(?:(?:(?:event|id|retry)?:[^\r\n]*)?[\r\n])*/
const fields = ['data:', 'event:', 'id:', 'retry:', ':']

/**
 * The format of a reply by its content type. docs/interface.md, "Endpoints", rule 2, does not show it, and some
 * services declare none, or `text/plain`: then the first line decides.
 *
 * @param beginning the text so far
 * @param ended whether it is the whole text
 * @returns undefined while more is needed
 */
export function detectFormat(
  contentType: string,
  beginning: string,
  ended: boolean,
): DetectedFormat | undefined {
  if (/^text\/event-stream\b/i.test(contentType)) return 'sse'
  if (/^application\/(x-)?(ndjson|jsonl|jsonlines)\b/i.test(contentType)) return 'ndjson'
  if (/^application\/([\w.+-]*\+)?json\b/i.test(contentType)) return 'json'
  const start = beginning.trimStart()
  const isOver = ended || beginning.length > maxBeginning
  if (start === '') return isOver ? 'text' : undefined
  if (start.startsWith('<') && /^text\/html\b/i.test(contentType)) return 'page'
  if (start.startsWith('{')) {
    const end = start.indexOf('\n')
    if (end < 0 && !isOver) return undefined
    const { text, ends, error, continues } = readFrame(tryParse(end < 0 ? start : start.slice(0, end)))
    return (text ?? ends ?? error) !== undefined || continues === true ? 'ndjson' : 'text'
  }
  const line = start.replace(linesBeforeData, '')
  if (line.startsWith('data:')) return 'sse'
  const isUndecided = fields.some((field) => field.startsWith(line) || line.startsWith(field))
  return isUndecided && !isOver ? undefined : 'text'
}

export function decoderOf(format: DetectedFormat): Decoder {
  if (format === 'sse') return new EventDecoder()
  if (format === 'ndjson') return new JsonLines()
  if (format === 'json') return new JsonBody()
  const isShown = format === 'text'
  return { push: (text) => (isShown && text !== '' ? [{ type: 'text', text }] : []), end: () => [] }
}

/** A value for each line. The parts of a long line are joined once, when it is complete. */
class JsonLines implements Decoder {
  #line: string[] = []

  push(text: string): StreamUnit[] {
    const [first = '', ...rest] = text.split('\n')
    this.#line.push(first)
    return rest.flatMap((next) => {
      const units = this.end()
      this.#line.push(next)
      return units
    })
  }

  end(): StreamUnit[] {
    const line = this.#line.join('').trim()
    this.#line = []
    return line === '' ? [] : [unitOf(line)]
  }
}

class JsonBody implements Decoder {
  readonly #parts: string[] = []

  push(text: string): StreamUnit[] {
    this.#parts.push(text)
    return []
  }

  end(): StreamUnit[] {
    return [unitOf(this.#parts.join(''))]
  }
}

function unitOf(text: string): StreamUnit {
  if (text === '[DONE]') return { type: 'done' }
  const value = tryParse(text, parseJson)
  return value === undefined ? { type: 'unreadable' } : { type: 'json', value }
}

/** Names of events that only keep the connection open. */
const keepAliveNames = /^(ping|heartbeat|keep-?alive)$/i

/**
 * Decodes server-sent events. The first event with a part of the reply decides whether the data of all
 * events is JSON or plain text: the text of a model may be `{}`, `null`, or `"quoted"`.
 */
class EventDecoder implements Decoder {
  #data: 'unknown' | 'json' | 'text' = 'unknown'
  #units: StreamUnit[] = []
  #isEnding = false
  readonly #parser = createParser({
    onEvent: (message) => this.#read(message),
    onError: ({ type, field, value = '', line = '' }) => {
      if (type !== 'unknown-field') return
      // llama.cpp has sent `error: {…}` as a field; other servers end with the body of an error.
      const error = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
      if (error === undefined) this.#units.push({ type: 'unreadable' })
      else this.#read({ id: undefined, event: 'error', data: error })
    },
  })

  push(text: string): StreamUnit[] {
    this.#parser.feed(text)
    return this.#units.splice(0)
  }

  /** An event without its blank line is not dispatched by the specification, but used here if it can be read. */
  end(): StreamUnit[] {
    this.#isEnding = true
    return this.push('\n\n')
  }

  #read({ event, data }: EventSourceMessage): void {
    const trimmed = data.trim()
    if (keepAliveNames.test(event ?? '')) return
    if (trimmed === '[DONE]') {
      this.#units.push({ type: 'done' })
      return
    }
    // In a stream of plain text, only a named event may contain JSON.
    const isText = this.#data === 'text' && event === undefined
    const value = !isText && /^[{["]/.test(trimmed) ? tryParse(trimmed, parseJson) : undefined
    if (value !== undefined) {
      if (this.#data === 'unknown' && hasPart(readFrame(value))) this.#data = 'json'
      this.#units.push({ type: 'json', value, event })
    } else if (this.#data === 'json' && readTextFrame(trimmed, event).text !== undefined) {
      if (trimmed !== '' && !keepAliveNames.test(trimmed)) this.#units.push({ type: 'unreadable' })
    } else if (this.#data === 'unknown' && (this.#isEnding ? /^[{["]/ : /^[{[]\s*["{[]/).test(trimmed)) {
      this.#units.push({ type: 'unreadable' })
    } else {
      const isReasoning = event !== undefined && isReasoningName(event)
      if (data !== '' && !isReasoning) this.#data = 'text'
      this.#units.push({ type: 'text', text: data, event })
    }
  }
}
