import type { StreamFormat } from '../../contract/stream-event.ts'
import { EventLines } from './event-lines.ts'
import { JsonProbe } from './json-probe.ts'

/**
 * What a streamed answer is made of. interface.md does not show it ("Endpoints", rule 2). `page`
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
 * Tells the form of an answer from its content type where that can be true, else from how it
 * begins. Text is told at its first character that fits nothing else, so that it can be shown as
 * it comes. Each character is looked at once, however the answer is split.
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
