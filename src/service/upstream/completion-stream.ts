import type { Readable } from 'node:stream'
import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { readUsage } from './lenient-answers.ts'
import type { Piece, TokenCounts } from './upstream.ts'
import { messageIn, messageOf, unusable } from './upstream-refusal.ts'

/** The most text that one stream may hold, in characters. */
const maxText = 4 * 1024 * 1024

/** How long, in ms, a server may take for what comes after a `finish_reason`: its usage, `[DONE]`, the end. */
const lastWords = 2_000

/** One `data:` of a stream, as far as it matters here. */
interface Chunk {
  model?: unknown
  error?: unknown
  object?: unknown
  usage?: unknown
  choices?: { index?: unknown; delta?: { content?: unknown } | null; finish_reason?: unknown }[] | null
}

/**
 * The pieces of an OpenAI stream; text that arrives together is one piece. It is whole when a
 * `finish_reason` or `[DONE]` came: whatever goes wrong after that takes nothing from it, and
 * nobody is kept waiting for its end. Left early, the body is destroyed.
 * @param hidden as `UpstreamAddress` has it
 * @throws Refusal `upstream_error` when it is not whole, or carries an error; whatever reading throws
 */
export async function* readPieces(
  body: Readable,
  asked: string,
  hidden: readonly string[],
): AsyncGenerator<Piece> {
  const answer = new StreamedAnswer(asked, hidden)
  const reader = new EventReader(maxText)
  let lingering: NodeJS.Timeout | undefined
  // Destroyed while nobody iterates, its error would be an uncaught one.
  body.on('error', () => {})
  try {
    for await (const bytes of body.iterator({ destroyOnReturn: false })) {
      const text = answer.take(reader.read(bytes))
      if (text !== '') yield { kind: 'delta', text, model: answer.model }
      answer.throwFailure()
      if (answer.isDone) break
      if (answer.reason !== undefined) lingering ??= setTimeout(() => body.destroy(), lastWords)
    }
    const text = answer.isDone ? '' : answer.take(reader.end())
    if (text !== '') yield { kind: 'delta', text, model: answer.model }
    answer.throwFailure()
  } catch (error) {
    if (answer.reason === undefined) throw error
  } finally {
    clearTimeout(lingering)
    if (answer.isDone) readOut(body)
    else body.destroy()
  }
  const { reason, model, usage } = answer
  if (reason === undefined) throw unusable('ended the reply before it was complete')
  yield { kind: 'finish', reason, model, usage }
}

/** A body that is read to its end leaves its connection to the next request. */
function readOut(body: Readable): void {
  if (body.closed) return
  const timer = setTimeout(() => body.destroy(), lastWords)
  body.once('close', () => clearTimeout(timer))
  body.resume()
}

/** What the chunks so far have said. */
class StreamedAnswer {
  model: string
  reason: string | undefined
  usage: TokenCounts | undefined
  /** `[DONE]` came. */
  isDone = false
  readonly #hidden: readonly string[]
  #length = 0
  #failure: unknown

  constructor(asked: string, hidden: readonly string[]) {
    this.model = asked
    this.#hidden = hidden
  }

  /** The text in some events, up to the one that is a failure; `throwFailure` tells of that. */
  take(events: readonly EventSourceMessage[]): string {
    let text = ''
    try {
      for (const event of events) {
        if (event.data === '[DONE]') {
          this.reason ??= 'stop'
          this.isDone = true
          break
        }
        text += this.#takeChunk(parseChunk(event, this.#hidden))
      }
    } catch (error) {
      this.#failure = error
    }
    this.#length += text.length
    if (this.#length > maxText) throw unusable('sent more than 4 Mi characters in one reply')
    return text
  }

  /** @throws Refusal `upstream_error` for an event that was an error, or could not be read */
  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #takeChunk({ model, usage, choices }: Chunk): string {
    if (typeof model === 'string') this.model = model
    this.usage = readUsage(usage) ?? this.usage
    // One answer is asked for; should others come they are not mixed into it.
    const choice = Array.isArray(choices) ? choices.find((given) => (given?.index ?? 0) === 0) : undefined
    if (typeof choice?.finish_reason === 'string') this.reason = choice.finish_reason
    const text = choice?.delta?.content
    return typeof text === 'string' ? text : ''
  }
}

function parseChunk({ event, data }: EventSourceMessage, hidden: readonly string[]): Chunk {
  if (event === 'error') throw brokeOff(messageOf(data, hidden))
  const chunk = parseObject(data)
  // vLLM sends `{"object":"error","message"}`.
  if (chunk.error || chunk.object === 'error') throw brokeOff(messageIn(chunk, hidden))
  return chunk
}

const brokeOff = (words = 'no reason given') => unusable(`interrupted the response: ${words}`)

function parseObject(data: string): Chunk {
  try {
    const chunk: unknown = JSON.parse(data)
    if (typeof chunk === 'object' && chunk !== null) return chunk
  } catch (cause) {
    throw unusable('sent an event that is not JSON', cause)
  }
  throw unusable('sent an event that is not a JSON object')
}

/** Makes events of the bytes of a stream, wherever these are cut. */
class EventReader {
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
