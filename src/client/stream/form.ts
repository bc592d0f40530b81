import { JsonValues } from './json-values.ts'

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

/**
 * Characters by which a form is told at the latest. Looking at ever more of them again for every
 * piece that comes would take time in the square of the answer's length.
 */
const enough = 64 * 1024

/**
 * Tells the form of an answer from its content type where that can be trusted, else from how it
 * begins; undefined while more is needed. Text is told at its first character that fits nothing
 * else, so that it can be shown as it comes.
 *
 * @param ended whether nothing more will come
 */
export function detectForm(contentType: string, beginning: string, ended: boolean): Form | undefined {
  if (/^text\/event-stream\b/i.test(contentType)) return 'events'
  if (isJsonLines(contentType)) return 'json'
  const text = beginning.trimStart()
  if (text === '') return ended ? 'text' : undefined
  if (text.startsWith('\u001e')) return 'json'
  if (/^[{["]/.test(text)) {
    if (isJson(contentType)) return 'json'
    return detectJson(text, ended)
  }
  const form = detectEvents(text, ended)
  if (form !== 'text') return form
  if (isJson(contentType)) return 'noise'
  return /^text\/html\b/i.test(contentType) || /^<(!doctype html|html)/i.test(text) ? 'page' : 'text'
}

/** JSON by its first whole value: a model's text may begin with a brace, too. */
function detectJson(whole: string, over: boolean): Form | undefined {
  const text = whole.slice(0, enough)
  const ended = over || text.length === enough
  const plausible = text.startsWith('"') || /^(\{\s*("|\}|$)|\[\s*(["{\]]|$))/.test(text)
  if (!plausible) return 'text'
  const values = new JsonValues()
  const units = values.push(text)
  const [first] = units
  if (!first) {
    if (!ended) return undefined
    return text.startsWith('"') ? 'text' : 'json'
  }
  if (first.type !== 'json' || units.some((unit) => unit.type === 'broken')) return 'text'
  if (!text.startsWith('"')) {
    // What follows a lone object tells whether it is quoted in a sentence.
    const alone = values.array === 'none' && /[^\r\n]$/.test(text) && units.length === 1
    return alone && !ended ? undefined : 'json'
  }
  const rest = text.slice(JSON.stringify(first.value).length)
  if (rest === '') return ended ? 'json' : undefined
  return /^\r?\n/.test(rest) ? 'json' : 'text'
}

/** Server-sent events by a `data:` line that only comments and other fields come before. */
function detectEvents(text: string, ended: boolean): Form | undefined {
  const lines = text.split(/\r\n|\n|\r/)
  const last = lines.pop() ?? ''
  for (const line of lines) {
    if (/^data(:|$)/.test(line)) return 'events'
    if (line !== '' && !/^(:|event:|id:|retry:)/.test(line)) return 'text'
  }
  if (last.startsWith('data:')) return 'events'
  const undecided =
    /^(:|event:|id:|retry:)/.test(last) || ['data', 'event', 'id', 'retry'].some((f) => f.startsWith(last))
  return undecided && !ended && last.length < enough ? undefined : 'text'
}
