import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { CheckingDecoder } from '../../contract/notation/text.ts'
import { reasoningIn } from '../../contract/resources/stream-event.ts'
import { readStart } from '../../system/network/fetch-text.ts'
import type { OpenResponse } from '../../system/network/transport.ts'
import { invalidResponse, invalidText, messageInBody, messageInText } from './model-server-error.ts'
import { parseUsage } from './parse-response.ts'
import type { RelayedPart, ReplyPart, TextPart, TokenCounts } from './reply-source.ts'

/** Maximum text of one stream, reasoning included, in characters. */
const maxText = 4 * 1024 * 1024

/** How long, in ms, a server may take after a `finish_reason` to send the usage, `[DONE]`, and the end. */
const endTimeout = 2_000

type ResponseBody = Pick<OpenResponse, 'read' | 'cancel'>

/** The fields of a `data:` line that are used here. */
interface Chunk {
  model?: unknown
  error?: unknown
  object?: unknown
  usage?: unknown
  choices?: { index?: unknown; delta?: { content?: unknown } | null; finish_reason?: unknown }[] | null
}

/**
 * The parts of an OpenAI stream.
 * @param secrets see `ModelServer`
 * @throws as `readParts`
 */
export async function* readReply(
  body: ResponseBody,
  asked: string,
  secrets: readonly string[],
): AsyncGenerator<ReplyPart> {
  const reply = new StreamedReply(asked, secrets)
  yield* readParts(body, reply)
  const { reason = 'stop', model, usage } = reply
  yield { kind: 'finish', reason, model, usage }
}

/**
 * The data of each event of an OpenAI stream, without `[DONE]`.
 * @param choices how many the client has requested
 * @param secrets see `ModelServer`
 * @throws as `readParts`
 */
export const readRelayed = (
  body: ResponseBody,
  choices: number,
  secrets: readonly string[],
): AsyncGenerator<RelayedPart> => readParts(body, new RelayedReply(choices, secrets))

/** What takes the events of a reply. */
interface EventTaker<Part> {
  /** The parts in events. @throws ApiError `model_server_error` for an event that is an error or cannot be read */
  take(events: readonly EventSourceMessage[]): Iterable<Part>
  /** Whether nothing of the reply is missing. */
  readonly isComplete: boolean
  /** `[DONE]` came. */
  readonly isDone: boolean
}

/**
 * The reply is complete after a `finish_reason` or `[DONE]`: later errors are ignored, and the end is not waited for.
 * If the caller stops early, the body is canceled.
 * @throws ApiError `model_server_error` if the stream is truncated or contains an error; Interrupted
 */
async function* readParts<Part>(body: ResponseBody, reply: EventTaker<Part>): AsyncGenerator<Part> {
  const reader = new EventReader()
  let lingering: NodeJS.Timeout | undefined
  try {
    for (let bytes = await body.read(); bytes; bytes = await body.read()) {
      yield* reply.take(reader.read(bytes))
      if (reply.isDone) break
      if (reply.isComplete) lingering ??= setTimeout(() => body.cancel(), endTimeout)
    }
    if (!reply.isDone) yield* reply.take(reader.end())
  } catch (error) {
    if (!reply.isComplete) throw error
  } finally {
    clearTimeout(lingering)
    if (reply.isDone) drain(body)
    else body.cancel()
  }
  if (!reply.isComplete) throw invalidResponse('ended the reply before it was complete')
  if (!reader.decoder.isValid) throw invalidText()
}

/** A body that is read to its end frees its connection for the next request. */
function drain(body: ResponseBody): void {
  const timer = setTimeout(() => body.cancel(), endTimeout)
  const clear = () => clearTimeout(timer)
  readStart(body, maxText).then(clear, clear)
}

/** The content of the chunks so far. */
class StreamedReply implements EventTaker<TextPart> {
  model: string
  reason: string | undefined
  usage: TokenCounts | undefined
  isDone = false
  readonly #secrets: readonly string[]
  #length = 0

  constructor(asked: string, secrets: readonly string[]) {
    this.model = asked
    this.#secrets = secrets
  }

  get isComplete(): boolean {
    return this.reason !== undefined
  }

  take(events: readonly EventSourceMessage[]): Generator<TextPart> {
    return joinParts(this.#partsOf(events))
  }

  *#partsOf(events: readonly EventSourceMessage[]): Generator<TextPart> {
    for (const event of events) {
      if (event.data === '[DONE]') {
        this.reason ??= 'stop'
        this.isDone = true
        return
      }
      const { model, usage, choices } = parseChunk(event, this.#secrets)
      if (typeof model === 'string') this.model = model
      this.usage = parseUsage(usage) ?? this.usage
      // The request is for one choice; others are ignored.
      const choice = Array.isArray(choices) ? choices.find((given) => (given?.index ?? 0) === 0) : undefined
      yield* this.#partOf('reasoning', reasoningIn(choice?.delta))
      yield* this.#partOf('delta', choice?.delta?.content)
      if (typeof choice?.finish_reason === 'string') this.reason = choice.finish_reason
    }
  }

  *#partOf(kind: TextPart['kind'], text: unknown): Generator<TextPart> {
    if (typeof text !== 'string' || text === '') return
    this.#length += text.length
    if (this.#length > maxText) throw invalidResponse('sent more than 4 Mi characters in one reply')
    yield { kind, text, model: this.model }
  }
}

/** Text of one kind that arrives together is one part. */
function* joinParts(parts: Iterable<TextPart>): Generator<TextPart> {
  let last: TextPart | undefined
  try {
    for (const part of parts) {
      if (last?.kind === part.kind) last.text += part.text
      else {
        if (last) yield last
        last = part
      }
    }
  } catch (error) {
    if (last) yield last
    throw error
  }
  if (last) yield last
}

/** Which choices have ended so far. */
class RelayedReply implements EventTaker<RelayedPart> {
  isDone = false
  readonly #finished = new Set<unknown>()
  readonly #choices: number
  readonly #secrets: readonly string[]

  constructor(choices: number, secrets: readonly string[]) {
    this.#choices = choices
    this.#secrets = secrets
  }

  get isComplete(): boolean {
    return this.isDone || this.#finished.size >= this.#choices
  }

  *take(events: readonly EventSourceMessage[]): Generator<RelayedPart> {
    for (const event of events) {
      this.isDone = event.data === '[DONE]'
      if (this.isDone) return
      const { usage, choices } = parseChunk(event, this.#secrets)
      for (const choice of Array.isArray(choices) ? choices : [])
        if (typeof choice?.finish_reason === 'string') this.#finished.add(choice.index ?? 0)
      yield { data: event.data, usage: parseUsage(usage) }
    }
  }
}

function parseChunk({ event, data }: EventSourceMessage, secrets: readonly string[]): Chunk {
  if (event === 'error') throw interrupted(messageInText(data, secrets))
  const chunk = parseObject(data)
  // vLLM sends `{"object":"error","message"}`.
  if (chunk.error || chunk.object === 'error') throw interrupted(messageInBody(chunk, secrets))
  return chunk
}

const interrupted = (words = 'no reason given') => invalidResponse(`truncated the response: ${words}`)

function parseObject(data: string): Chunk {
  try {
    const chunk: unknown = JSON.parse(data)
    if (typeof chunk === 'object' && chunk !== null) return chunk
  } catch (cause) {
    throw invalidResponse('sent an event that is not JSON', cause)
  }
  throw invalidResponse('sent an event that is not a JSON object')
}

/** Parses the bytes of a stream into events, in chunks of any size. */
class EventReader {
  readonly decoder = new CheckingDecoder()
  readonly #parser: EventSourceParser
  #arrived: EventSourceMessage[] = []
  #isTooLong = false

  constructor() {
    this.#parser = createParser({
      onEvent: (event) => this.#arrived.push(event),
      onError: ({ type, field, value, line = '' }) => {
        this.#isTooLong ||= type === 'max-buffer-size-exceeded'
        if (type !== 'unknown-field') return
        // llama.cpp has sent `error: {…}` as a field; other servers end with the JSON of an error.
        const words = field === 'error' ? value : /^\{\s*"error"/.test(line) ? line : undefined
        if (words !== undefined) this.#arrived.push({ event: 'error', data: words, id: undefined })
      },
      maxBufferSize: maxText,
    })
  }

  /** Returns the events that these bytes complete. @throws ApiError `model_server_error` for one that is too long */
  read(bytes: Uint8Array): EventSourceMessage[] {
    return this.#feed(this.decoder.decode(bytes))
  }

  /** Returns a last event without a blank line, which some servers omit after `[DONE]`. */
  end(): EventSourceMessage[] {
    return this.#feed(`${this.decoder.decode()}\n\n`)
  }

  #feed(text: string): EventSourceMessage[] {
    this.#parser.feed(text)
    if (this.#isTooLong) throw invalidResponse('sent an event that is too long')
    const arrived = this.#arrived
    if (arrived.length > 0) this.#arrived = []
    return arrived
  }
}
