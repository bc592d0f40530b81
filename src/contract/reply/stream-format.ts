import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { isRecord, parseJson, tryParse } from '../notation/exact-json.ts'
import type { StreamFormat } from '../resources/stream-event.ts'
import { hasPart, isReasoningName, readFrame, readTextFrame } from './frame.ts'

/** One unit of a stream, as the format delimits it. */
export type StreamUnit =
  /** `event` is the name of a server-sent event, and `data` is the text of the value. */
  | { type: 'json'; value: unknown; event?: string | undefined; data: string }
  | { type: 'text'; text: string; event?: string | undefined }
  /** The marker `[DONE]`. */
  | { type: 'done' }
  /** A truncated or unreadable unit. */
  | { type: 'unreadable' }
  /** More than `maxEvent`. Nothing can follow it. */
  | { type: 'too_long' }

/** What is known of the server-sent events of a stream. */
export interface EventRules {
  /** Whether the data of all events is a JSON object. */
  isJson?: boolean
  /** Maximum characters of one. */
  maxEvent?: number
  parse?: (text: string) => unknown
}

/** Decodes text into units, however the text is split. */
export interface Decoder {
  push(text: string): StreamUnit[]
  /** Returns the units of an unterminated end. */
  end(): StreamUnit[]
  /** Whether the last text ended within a unit. */
  readonly isWithin: boolean
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

export function decoderOf(format: DetectedFormat, rules: EventRules = {}): Decoder {
  if (format === 'sse') return new EventDecoder(rules)
  if (format === 'ndjson') return new JsonLines(rules.maxEvent)
  if (format === 'json') return new JsonBody()
  const isShown = format === 'text'
  return {
    push: (text) => (isShown && text !== '' ? [{ type: 'text', text }] : []),
    end: () => [],
    isWithin: true,
  }
}

/** A value for each line. The parts of a long line are joined once, when it is complete. */
class JsonLines implements Decoder {
  #line: string[] = []
  #length = 0
  readonly #maxLine: number

  constructor(maxLine = Number.POSITIVE_INFINITY) {
    this.#maxLine = maxLine
  }

  get isWithin(): boolean {
    return this.#line.some((part) => part.trim() !== '')
  }

  push(text: string): StreamUnit[] {
    const [first = '', ...rest] = text.split('\n')
    const units: StreamUnit[] = this.#add(first)
    for (const next of rest) units.push(...this.end(), ...this.#add(next))
    return units
  }

  end(): StreamUnit[] {
    const line = this.#line.join('').trim()
    this.#line = []
    this.#length = 0
    return line === '' ? [] : [unitOf(line)]
  }

  #add(part: string): StreamUnit[] {
    this.#line.push(part)
    this.#length += part.length
    return this.#length > this.#maxLine ? [{ type: 'too_long' }] : []
  }
}

class JsonBody implements Decoder {
  readonly isWithin = true
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
  return value === undefined ? { type: 'unreadable' } : { type: 'json', value, data: text }
}

/** Names of events that only keep the connection open. */
const keepAliveNames = /^(ping|heartbeat|keep-?alive)$/i

/**
 * Decodes server-sent events. The first event with a part of the reply decides whether the data of all
 * events is JSON or plain text: the text of a model may be `{}`, `null`, or `"quoted"`.
 */
class EventDecoder implements Decoder {
  #data: 'unknown' | 'json' | 'text'
  /** The parts of a line that has not ended: the parser drops the rest of an unknown one that arrives in parts. */
  #line: string[] = []
  #lineLength = 0
  #units: StreamUnit[] = []
  #isEnding = false
  #isTooLong = false
  /** Whether there was a line with an unknown field before the kind of the data was known. */
  #hasUnknownLine = false
  readonly #isJson: boolean
  readonly #parser: EventSourceParser
  readonly #maxEvent: number
  readonly #parse: (text: string) => unknown

  constructor({ isJson = false, maxEvent = Number.POSITIVE_INFINITY, parse = parseJson }: EventRules) {
    this.#data = isJson ? 'json' : 'unknown'
    this.#isJson = isJson
    this.#maxEvent = maxEvent
    // Gemini sends its errors as a list of one.
    const toObject = (value: unknown) => [value].flat().find(isRecord)
    this.#parse = isJson ? (text) => toObject(parse(text)) : parse
    this.#parser = createParser({
      maxBufferSize: maxEvent,
      onEvent: (message) => this.#read(message),
      onError: ({ type, field, value = '', line = '' }) => {
        this.#isTooLong ||= type === 'max-buffer-size-exceeded'
        if (type !== 'unknown-field') return
        // llama.cpp has sent `error: {…}` as a field; other servers end with the body of an error.
        const error = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
        if (error === undefined) this.#skip(line)
        else this.#read({ id: undefined, event: 'error', data: error })
      },
    })
  }

  get isWithin(): boolean {
    return this.#line.find((part) => part !== '')?.startsWith(':') === false
  }

  push(text: string): StreamUnit[] {
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
    if (end > 0) {
      this.#parser.feed([...this.#line.splice(0), text.slice(0, end)].join(''))
      this.#lineLength = 0
    }
    this.#line.push(text.slice(end))
    this.#lineLength += text.length - end
    if (this.#isTooLong || this.#lineLength > this.#maxEvent) this.#units.push({ type: 'too_long' })
    return this.#units.splice(0)
  }

  /** An event without its blank line is not dispatched by the specification, but used here if it can be read. */
  end(): StreamUnit[] {
    this.#isEnding = true
    return this.#isTooLong ? [] : this.push('\n\n')
  }

  /** A line with an unknown field is ignored, unless it may be a part of the text, or a damaged event. */
  #skip(line: string): void {
    if (line.trim() === '' || this.#isJson) return
    if (this.#data === 'text' || /[{<]/.test(line)) this.#units.push({ type: 'unreadable' })
    else if (this.#data === 'unknown') this.#hasUnknownLine = true
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
    const value = !isText && /^[{["]/.test(trimmed) ? tryParse(trimmed, this.#parse) : undefined
    if (value !== undefined) {
      if (this.#data === 'unknown' && hasPart(readFrame(value))) this.#data = 'json'
      this.#units.push({ type: 'json', value, event, data })
    } else if (this.#data === 'json' && readTextFrame(trimmed, event).text !== undefined) {
      if (trimmed !== '' && !keepAliveNames.test(trimmed)) this.#units.push({ type: 'unreadable' })
    } else if (this.#data === 'unknown' && (this.#isEnding ? /^[{["]/ : /^[{[]\s*["{[]/).test(trimmed)) {
      this.#units.push({ type: 'unreadable' })
    } else {
      const isReasoning = event !== undefined && isReasoningName(event)
      if (data !== '' && !isReasoning) {
        this.#data = 'text'
        if (this.#hasUnknownLine) this.#units.push({ type: 'unreadable' })
        this.#hasUnknownLine = false
      }
      this.#units.push({ type: 'text', text: data, event })
    }
  }
}
