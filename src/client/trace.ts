import { utf8Text } from '../contract/notation/text.ts'
import { hideSecretFields, hideSecretParameters, redacted, stringOf } from '../contract/secret-fields.ts'
import type { HttpRequest, Interrupted, OpenResponse } from '../system/network/transport.ts'
import type { AttemptResponse } from './attempt.ts'
import { minSecretLength, type Redact, redactorOf, showHeaders, showUrl } from './redaction.ts'

/** A body without secrets. */
export interface TracedBody {
  /** The beginning; undefined if it is not text. */
  text: string | undefined
  /** Number of bytes in all, and of those after the beginning. */
  length: number
  omitted: number
}

/** What crosses the network. It contains no secret. Times are in milliseconds. */
export type TraceEvent =
  | {
      type: 'request'
      method: string
      url: string
      attempt: number
      headers: Record<string, string>
      body: TracedBody
    }
  | {
      type: 'response'
      status: number
      statusText: string
      elapsed: number
      headers: Record<string, string>
      /** Undefined for a stream, which is reported at its end. */
      body: TracedBody | undefined
    }
  | { type: 'stream'; end: 'complete' | 'interrupted' | 'closed'; chunks: number; body: TracedBody }
  | { type: 'retry'; reason: string; after: number }

/** Number of bytes that are shown of a body. */
const maxShown = 16 * 1024

/** Number of bytes after those in which the rest of a secret is searched for. */
const margin = 8 * 1024

/** Reports what crosses the network, for debugging. */
export class Trace {
  readonly #report: (event: TraceEvent) => void
  readonly #streams = new Set<{ finish(): void }>()

  constructor(report: (event: TraceEvent) => void) {
    this.#report = report
  }

  /** @param redact removes the credential */
  request(sent: HttpRequest, attempt: number, redact: Redact): void {
    const { method, url, headers } = sent
    const clean = cleanerOf(sent, redact)
    this.#report({
      type: 'request',
      method,
      url: clean(showUrl(url)),
      attempt,
      headers: cleanHeaders(headers, clean),
      body: bodyOf(bytesOf(sent), headers, clean),
    })
  }

  /** @returns the response, which reports its stream at the end */
  response(sent: HttpRequest, response: AttemptResponse, elapsed: number, redact: Redact): AttemptResponse {
    const { status, statusText, headers, bytes, rest } = response
    const clean = cleanerOf(sent, redact)
    this.#report({
      type: 'response',
      status,
      statusText: clean(statusText),
      elapsed,
      headers: cleanHeaders(headers, clean),
      body: rest ? undefined : bodyOf(bytes, headers, clean),
    })
    if (!rest) return response
    const stream = tracedStream(rest, bytes, (end, chunks, begin, length) => {
      this.#streams.delete(stream)
      this.#report({ type: 'stream', end, chunks, body: bodyOf(begin, headers, clean, length) })
    })
    this.#streams.add(stream)
    return { ...response, rest: stream }
  }

  /** Reports the streams that are still open. */
  finish(): void {
    for (const stream of this.#streams) stream.finish()
  }

  retry(reason: string, after: number): void {
    this.#report({ type: 'retry', reason, after })
  }
}

const interrupted: Interrupted['name'] = 'Interrupted'

type StreamEnd = 'complete' | 'interrupted' | 'closed'

/** @param begin the beginning of the stream, and how long it was */
type OnStreamEnd = (end: StreamEnd, chunks: number, begin: Uint8Array, length: number) => void

/** Passes a stream on as it arrives, and keeps its beginning. */
function tracedStream(
  stream: OpenResponse,
  first: Uint8Array,
  onEnd: OnStreamEnd,
): OpenResponse & { finish(): void } {
  const begin: Uint8Array[] = []
  let chunks = 0
  let length = 0
  let hasEnded = false
  const keep = (chunk: Uint8Array): void => {
    if (length < maxShown + margin) begin.push(chunk.slice(0, maxShown + margin))
    chunks++
    length += chunk.length
  }
  const end = (how: StreamEnd): void => {
    if (!hasEnded) onEnd(how, chunks, Buffer.concat(begin), length)
    hasEnded = true
  }
  if (first.length > 0) keep(first)
  const { status, statusText, headers } = stream
  const finish = () => end('closed')
  const cancel = () => {
    stream.cancel()
    finish()
  }
  const read = async () => {
    try {
      const chunk = await stream.read()
      if (chunk) keep(chunk)
      else end('complete')
      return chunk
    } catch (error) {
      // The bundle with this file would have another copy of the class `Interrupted`.
      end(error instanceof Error && error.name === interrupted ? 'interrupted' : 'closed')
      throw error
    }
  }
  return { status, statusText, headers, read, cancel, finish }
}

type Clean = (text: string) => string

/** Removes the credential, and the secrets in the request, which a response may repeat. */
function cleanerOf(sent: HttpRequest, redact: Redact): Clean {
  const secrets: string[] = []
  const keep = (value: string) => {
    secrets.push(value, JSON.stringify(value).slice(1, -1))
    return value
  }
  const { headers, url } = sent
  const text = new TextDecoder().decode(bytesOf(sent))
  if (isForm(headers)) hideSecretParameters(text, (value) => keep(decoded(value)))
  else hideSecretFields(text, (written) => keep(stringOf(written)))
  hideSecretParameters(url.search, (value) => keep(decoded(value)))
  const shown = showHeaders(headers)
  for (const [name, value] of Object.entries(headers)) if (shown[name] !== value) keep(value)
  const redactSecrets = redactorOf(...secrets)
  const short = secrets.filter((secret) => secret !== '' && secret.length < minSecretLength)
  const words = short.length > 0 && wordsOf(short)
  return (text) => {
    const clean = redactSecrets(redact(text))
    return words ? clean.replace(words, redacted) : clean
  }
}

/** Matches short secrets as whole words. Within longer words, they are a coincidence. */
function wordsOf(secrets: readonly string[]): RegExp {
  const any = [...new Set(secrets)].map((secret) => secret.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|')
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, 'gu')
}

function decoded(value: string): string {
  return new URLSearchParams(`value=${value}`).get('value') ?? value
}

function isForm(headers: Record<string, string>): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')
}

function cleanHeaders(headers: Record<string, string>, clean: Clean): Record<string, string> {
  const shown = Object.entries(showHeaders(headers)).map(([name, value]) => [
    clean(name),
    hideSecretParameters(clean(value), () => redacted),
  ])
  return Object.fromEntries(shown)
}

function bytesOf({ body = '' }: HttpRequest): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}

/** @param bytes the body, or its beginning with the margin */
function bodyOf(
  bytes: Uint8Array,
  headers: Record<string, string>,
  clean: Clean,
  length = bytes.length,
): TracedBody {
  const begin = utf8Text(bytes.subarray(0, maxShown))
  const text = utf8Text(bytes.subarray(0, maxShown + margin))
  if (begin === undefined || text === undefined) return { text: undefined, length, omitted: length }
  const hidden = isForm(headers)
    ? hideSecretParameters(text, () => redacted)
    : hideSecretFields(text, () => `"${redacted}"`)
  const cleaned = clean(hidden)
  if (length <= maxShown) return { text: cleaned, length, omitted: 0 }
  // A secret that continues after the beginning is hidden before the text is truncated. One that is truncated at the end of
  // the margin is not recognized, so the last characters are omitted even if hidden secrets are shorter.
  const end = Math.min(begin.length, cleaned.length - (text.length - begin.length))
  return { text: cleaned.slice(0, end), length, omitted: length - maxShown }
}
