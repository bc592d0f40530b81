import type { Dispatcher } from 'undici'
import type * as z from 'zod/mini'
import { readPieces } from './completion-stream.ts'
import { completion, modelList } from './lenient-answers.ts'
import {
  connectModelServer,
  defaultTimeouts,
  type ModelServer,
  type UpstreamOptions,
  type UpstreamTimeouts,
} from './model-server.ts'
import type { CompletionResult, Order, Piece, Upstream } from './upstream.ts'
import { toRefusal, unusable } from './upstream-refusal.ts'

/**
 * A model server that speaks the OpenAI chat completions format.
 * @throws Failure `config` or `refused` for a URL or a key that cannot be used
 */
export async function createOpenAiCompatible(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts = defaultTimeouts,
): Promise<Upstream> {
  const server = await connectModelServer(options, timeouts)
  return {
    async listModels(signal) {
      const answer = await server.get('/models', signal)
      const { data } = parse(modelList, await readJson(server, answer, signal))
      return (data ?? []).map(({ id, created, owned_by }) => ({
        id,
        created: created ?? 0,
        object: 'model',
        owned_by: owned_by ?? '',
      }))
    },
    async complete(order, signal) {
      const answer = await server.post('/chat/completions', bodyOf(order, false), signal)
      return readCompletion(await readJson(server, answer, signal), order)
    },
    stream: (order, signal) => stream(server, order, signal),
    close: () => server.close(),
  }
}

/** Left early, the body is destroyed by what iterates it, and the server stops generating. */
async function* stream(server: ModelServer, order: Order, signal: AbortSignal): AsyncGenerator<Piece> {
  const answer = await server.post('/chat/completions', bodyOf(order, true), signal)
  try {
    if (String(answer.headers['content-type']).includes('text/event-stream')) {
      yield* readPieces(answer.body, order.model)
      return
    }
    // Some servers know no streaming and send the whole answer at once.
    const { choices, model } = readCompletion(await readJson(server, answer, signal), order)
    const { message, finish_reason } = choices[0] ?? { message: { content: '' }, finish_reason: 'stop' }
    yield { kind: 'delta', text: message.content, model }
    yield { kind: 'finish', reason: finish_reason, model }
  } catch (error) {
    throw toRefusal(error, signal, server.shownAs)
  }
}

/** The fields that leave, named one by one: nothing else of a caller's request does. */
function bodyOf({ model, messages, temperature, max_tokens }: Order, stream: boolean) {
  return { model, messages, temperature, max_tokens, stream }
}

/** The most that one answer may hold, in bytes: a server gone wrong must not fill the memory. */
const maxAnswer = 16 * 1024 * 1024

async function readJson(
  { shownAs }: ModelServer,
  { body }: Dispatcher.ResponseData,
  signal: AbortSignal,
): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      size += chunk.length
      if (size > maxAnswer) throw unusable('sent more than 16 MiB in one answer')
      chunks.push(chunk)
    }
  } catch (error) {
    throw toRefusal(error, signal, shownAs)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (cause) {
    throw unusable('sent something that is not JSON', cause)
  }
}

/** What servers leave out is filled in: a count that is unknown is 0. */
function readCompletion(body: unknown, order: Order): CompletionResult {
  const { choices, created, model, usage } = parse(completion, body)
  if (choices.length === 0) throw unusable('sent an answer without choices')
  const prompt = usage?.prompt_tokens ?? 0
  const completed = usage?.completion_tokens ?? 0
  return {
    created: created ?? Math.floor(Date.now() / 1000),
    model: model ?? order.model,
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completed,
      total_tokens: usage?.total_tokens ?? prompt + completed,
    },
    choices: choices.map(({ message, finish_reason, index }, position) => ({
      index: index ?? position,
      message: { role: message.role ?? 'assistant', content: message.content ?? '' },
      finish_reason: finish_reason ?? 'stop',
    })),
  }
}

function parse<S extends z.ZodMiniType>(schema: S, body: unknown): z.infer<S> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw unusable('sent an answer of another form than the OpenAI one', result.error)
}
