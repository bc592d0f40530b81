import { createParser } from 'eventsource-parser'
import type { Piece } from './upstream.ts'
import { messageOf, unusable } from './upstream-refusal.ts'

/** The most text that one stream may hold, in characters. */
const maxText = 16 * 1024 * 1024

/** One `data:` of a stream, as far as it matters here. */
interface Chunk {
  model?: unknown
  error?: unknown
  choices?: { delta?: { content?: unknown } | null; finish_reason?: unknown }[]
}

/**
 * The pieces of an OpenAI stream. It is whole when a `finish_reason` or `[DONE]` came.
 * @throws Refusal `upstream_error` when it is not, or carries an error; whatever reading throws
 */
export async function* readPieces(body: AsyncIterable<Uint8Array>, asked: string): AsyncGenerator<Piece> {
  let model = asked
  let reason: string | undefined
  let length = 0
  for await (const data of readEvents(body)) {
    if (data === '[DONE]') {
      reason ??= 'stop'
      break
    }
    const chunk = parseChunk(data)
    if (chunk.error) throw unusable(`broke off: ${messageOf(data) ?? 'it did not say why'}`)
    if (typeof chunk.model === 'string') model = chunk.model
    const choice = chunk.choices?.[0]
    const text = choice?.delta?.content
    if (typeof text === 'string' && text !== '') {
      length += text.length
      if (length > maxText) throw unusable('sent more than 16 Mi characters in one answer')
      yield { kind: 'delta', text, model }
    }
    if (typeof choice?.finish_reason === 'string') reason = choice.finish_reason
  }
  if (reason === undefined) throw unusable('ended its answer before it was finished')
  yield { kind: 'finish', reason, model }
}

async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const arrived: string[] = []
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data), maxBufferSize: maxText })
  const decoder = new TextDecoder()
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* arrived.splice(0)
  }
  // A last event that no blank line ended still counts: some servers forget it after [DONE].
  parser.feed(`${decoder.decode()}\n\n`)
  yield* arrived
}

function parseChunk(data: string): Chunk {
  try {
    const chunk: unknown = JSON.parse(data)
    if (typeof chunk === 'object' && chunk !== null) return chunk
  } catch (cause) {
    throw unusable('sent a piece that is not JSON', cause)
  }
  throw unusable('sent a piece that is not a JSON object')
}
