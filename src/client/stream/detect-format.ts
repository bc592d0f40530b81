import type { StreamFormat } from '../../contract/resources/stream-event.ts'
import { JsonProbe } from './json-probe.ts'

/**
 * The format of a streamed reply, which docs/interface.md, "Endpoints", rule 2, does not show. `page` is a
 * web page. `noise` has a JSON content type, but is not JSON.
 */
export type DetectedFormat = 'events' | 'json' | 'text' | 'page' | 'noise'

const jsonLines = /^application\/(x-)?(ndjson|jsonl|jsonlines|json-seq)\b/i
const anyJson = /^application\/([\w.+-]*\+)?json\b/i

/** Whether a content type means a sequence of JSON values. */
export function isJsonLines(contentType: string): boolean {
  return jsonLines.test(contentType)
}

/** Whether a content type means one JSON body. */
export function isJson(contentType: string): boolean {
  return anyJson.test(contentType) && !jsonLines.test(contentType)
}

/** The content type of each format that a person can choose. */
const types: Record<Exclude<StreamFormat, 'auto'>, string> = {
  sse: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  'json-seq': 'application/json-seq',
  text: 'text/plain',
}
const formats: Record<Exclude<StreamFormat, 'auto'>, DetectedFormat> = {
  sse: 'events',
  ndjson: 'json',
  json: 'json',
  'json-seq': 'json',
  text: 'text',
}

/**
 * Detects the format of a reply by its content type if the beginning fits it, else by the beginning.
 * Detects text at the first character that fits no other format, so that text is shown while it arrives.
 * Examines each character once, however the reply is split.
 */
export class FormatDetector {
  /** The content type of the response, or of the format that a person chose. */
  readonly contentType: string
  readonly #known: DetectedFormat | undefined
  #probe: JsonProbe | EventLines | undefined
  #isTag = false

  constructor(contentType: string, format: StreamFormat = 'auto') {
    this.contentType = format === 'auto' ? contentType : types[format]
    this.#known = format === 'auto' ? undefined : formats[format]
  }

  /**
   * Processes the next text. Undefined while more is needed.
   *
   * @param ended whether the text is complete
   */
  push(text: string, ended: boolean): DetectedFormat | undefined {
    if (this.#known) return this.#known
    if (this.#probe) return this.#judge(text, ended)
    const beginning = text.trimStart()
    const declared = this.#declared()
    if (beginning === '') return ended ? (declared ?? 'text') : undefined
    const isNested = /^[{["]/.test(beginning)
    // A JSON text never begins like a field of an event.
    if (declared === 'events') return /^[{[]/.test(beginning) ? 'json' : 'events'
    if (declared === 'json') return /^[deir:]/.test(beginning) ? 'events' : 'json'
    if (beginning.startsWith('\u001e') || (isNested && isJson(this.contentType))) return 'json'
    this.#probe = isNested ? new JsonProbe(beginning.charAt(0)) : new EventLines()
    this.#isTag = beginning.startsWith('<')
    return this.#judge(beginning, ended)
  }

  #declared(): DetectedFormat | undefined {
    if (/^text\/event-stream\b/i.test(this.contentType)) return 'events'
    return isJsonLines(this.contentType) ? 'json' : undefined
  }

  #judge(text: string, ended: boolean): DetectedFormat | undefined {
    const format = this.#probe?.push(text, ended)
    if (format !== 'text' || this.#probe instanceof JsonProbe) return format
    if (isJson(this.contentType)) return 'noise'
    return this.#isTag && /^text\/html\b/i.test(this.contentType) ? 'page' : 'text'
  }
}

/** Maximum number of characters of a line before it counts as text. */
const maxLineLength = 64 * 1024

const fields = ['data', 'event', 'id', 'retry']

/** Detects server-sent events by a `data` line, before which only comments and other fields are allowed. */
class EventLines {
  /** The first characters of the unfinished line. */
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
    return undecided && !ended && this.#length < maxLineLength ? undefined : 'text'
  }
}
