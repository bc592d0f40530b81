import type { Readable } from 'node:stream'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { messageIn } from './error-message.ts'
import { readUsage } from './lenient-answers.ts'
import type { Piece, Usage } from './upstream.ts'
import { unusable } from './upstream-refusal.ts'

/** The most text that one stream may hold, and the longest line of one, in characters. */
const maxText = 16 * 1024 * 1024

/** How long, in ms, a server may take for what it says after a `finish_reason`: its usage, `[DONE]`. */
const lastWords = 2_000

/** One `data:` of a stream, as far as it matters here. */
interface Chunk {
  model?: unknown
  error?: unknown
  usage?: unknown
  choices?: { index?: unknown; delta?: { content?: unknown } | null; finish_reason?: unknown }[] | null
}

/**
 * The pieces of an OpenAI stream. It is whole when a `finish_reason` or `[DONE]` came: whatever
 * goes wrong after that takes nothing from it, and nobody is kept waiting for its end.
 * @throws Refusal `upstream_error` when it is not whole, or carries an error; whatever reading throws
 */
export async function* readPieces(body: Readable, asked: string): AsyncGenerator<Piece> {
  let model = asked
  let reason: string | undefined
  let usage: Usage | undefined
  let length = 0
  let lingering: NodeJS.Timeout | undefined
  try {
    for await (const event of readEvents(body)) {
      if (event.data === '[DONE]') {
        reason ??= 'stop'
        break
      }
      const chunk = parseChunk(event)
      if (typeof chunk.model === 'string') model = chunk.model
      usage = readUsage(chunk.usage) ?? usage
      const choice = firstChoice(chunk)
      const text = choice?.delta?.content
      if (typeof text === 'string' && text !== '') {
        length += text.length
        if (length > maxText) throw unusable('sent more than 16 Mi characters in one answer')
        yield { kind: 'delta', text, model }
      }
      if (typeof choice?.finish_reason === 'string') {
        reason = choice.finish_reason
        lingering ??= setTimeout(() => body.destroy(), lastWords)
      }
    }
  } catch (error) {
    if (reason === undefined) throw error
  } finally {
    clearTimeout(lingering)
  }
  if (reason === undefined) throw unusable('ended its answer before it was finished')
  yield { kind: 'finish', reason, model, usage }
}

async function* readEvents(body: Readable): AsyncGenerator<EventSourceMessage> {
  const arrived: EventSourceMessage[] = []
  let isTooLong = false
  const parser = createParser({
    onEvent: (event) => arrived.push(event),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded'
    },
    maxBufferSize: maxText,
  })
  const decoder = new TextDecoder()
  const feed = (text: string) => {
    parser.feed(text)
    if (isTooLong) throw unusable('sent a line of more than 16 Mi characters')
    return arrived.splice(0)
  }
  for await (const bytes of body) yield* feed(decoder.decode(bytes, { stream: true }))
  // A last event that no blank line ended still counts: some servers forget it after [DONE].
  yield* feed(`${decoder.decode()}\n\n`)
}

function parseChunk({ event, data }: EventSourceMessage): Chunk {
  const chunk = parseObject(data)
  if (chunk.error || event === 'error') {
    throw unusable(`broke off: ${messageIn(chunk) ?? 'it did not say why'}`)
  }
  return chunk
}

function parseObject(data: string): Chunk {
  try {
    const chunk: unknown = JSON.parse(data)
    if (typeof chunk === 'object' && chunk !== null) return chunk
  } catch (cause) {
    throw unusable('sent a piece that is not JSON', cause)
  }
  throw unusable('sent a piece that is not a JSON object')
}

/** One answer is asked for; should others come they are not mixed into it. */
function firstChoice({ choices }: Chunk) {
  return Array.isArray(choices) ? choices.find((choice) => (choice?.index ?? 0) === 0) : undefined
}
