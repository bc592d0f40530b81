import type { StreamFormat } from '../../contract/stream-event.ts'
import { JsonProbe } from './json-probe.ts'

/**
 * What a streamed reply is made of. docs/interface.md, "Endpoints", rule 2, does not show it. `page`
 * is a web page, and `noise` what was announced as JSON and is none.
 */
export type Form = 'events' | 'json' | 'text' | 'page' | 'noise'

const jsonLines = /^application\/(x-)?(ndjson|jsonl|jsonlines|json-seq)\b/i
const anyJson = /^application\/([\w.+-]*\+)?json\b/i

/** Whether a content type announces JSON values in a row, so that one of them is not the whole. */
export function isJsonLines(contentType: string): boolean {
  return jsonLines.test(contentType)
}

/** Whether a content type announces one JSON body. */
export function isJson(contentType: string): boolean {
  return anyJson.test(contentType) && !jsonLines.test(contentType)
}

/** The content types that say what a person says. */
const types: Record<Exclude<StreamFormat, 'auto'>, string> = {
  sse: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  'json-seq': 'application/json-seq',
  text: 'text/plain',
}
const forms: Record<Exclude<StreamFormat, 'auto'>, Form> = {
  sse: 'events',
  ndjson: 'json',
  json: 'json',
  'json-seq': 'json',
  text: 'text',
}

/**
 * Tells the form of a reply from its content type where that can be true, else from how it
 * begins. Text is told at its first character that fits nothing else, so that it can be shown as
 * it comes. Each character is looked at once, however the reply is split.
 */
export class FormDetector {
  /** The one that was sent, or that says what a person said. */
  readonly contentType: string
  readonly #known: Form | undefined
  #probe: JsonProbe | EventLines | undefined
  #isTag = false

  constructor(contentType: string, format: StreamFormat = 'auto') {
    this.contentType = format === 'auto' ? contentType : types[format]
    this.#known = format === 'auto' ? undefined : forms[format]
  }

  /**
   * Takes what came next; undefined while more is needed.
   *
   * @param ended whether nothing more will come
   */
  push(text: string, ended: boolean): Form | undefined {
    if (this.#known) return this.#known
    if (this.#probe) return this.#judge(text, ended)
    const beginning = text.trimStart()
    const announced = this.#announced()
    if (beginning === '') return ended ? (announced ?? 'text') : undefined
    const isNested = /^[{["]/.test(beginning)
    // No field of an event begins like JSON, and no JSON like a field.
    if (announced === 'events') return /^[{[]/.test(beginning) ? 'json' : 'events'
    if (announced === 'json') return /^[deir:]/.test(beginning) ? 'events' : 'json'
    if (beginning.startsWith('\u001e') || (isNested && isJson(this.contentType))) return 'json'
    this.#probe = isNested ? new JsonProbe(beginning.charAt(0)) : new EventLines()
    this.#isTag = beginning.startsWith('<')
    return this.#judge(beginning, ended)
  }

  #announced(): Form | undefined {
    if (/^text\/event-stream\b/i.test(this.contentType)) return 'events'
    return isJsonLines(this.contentType) ? 'json' : undefined
  }

  #judge(text: string, ended: boolean): Form | undefined {
    const form = this.#probe?.push(text, ended)
    if (form !== 'text' || this.#probe instanceof JsonProbe) return form
    if (isJson(this.contentType)) return 'noise'
    return this.#isTag && /^text\/html\b/i.test(this.contentType) ? 'page' : 'text'
  }
}

/** Characters of a line by which it is told at the latest. */
const enough = 64 * 1024

const fields = ['data', 'event', 'id', 'retry']

/** Tells server-sent events by a `data` line that only comments and other fields come before. */
class EventLines {
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
