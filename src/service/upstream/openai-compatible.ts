import type { Dispatcher } from 'undici'
import { readPieces } from './completion-stream.ts'
import { rememberFirstModel } from './first-model.ts'
import { readCompletion, readModels } from './lenient-answers.ts'
import {
  connectModelServer,
  defaultTimeouts,
  type ModelServer,
  type UpstreamTimeouts,
} from './model-server.ts'
import { readJson } from './read-json.ts'
import type { Order, Piece, Upstream } from './upstream.ts'
import type { UpstreamOptions } from './upstream-address.ts'
import { upstreamRefusal } from './upstream-refusal.ts'

/**
 * A model server that speaks the OpenAI chat completions format.
 * @throws Failure `config` or `refused` for a URL or a key that cannot be used
 */
export async function createOpenAiCompatible(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts = defaultTimeouts,
): Promise<Upstream> {
  const server = await connectModelServer(options, timeouts)
  const closing = new AbortController()

  async function listModels(signal: AbortSignal) {
    const answer = await server.get('/models', signal)
    return readModels(await read(answer, signal), server.hidden)
  }

  return {
    listModels,
    defaultModel: rememberFirstModel(() => listModels(closing.signal)),
    async complete(order, signal) {
      const answer = await server.post('/chat/completions', bodyOf(order, false), signal)
      return readCompletion(await read(answer, signal), order.model, server.hidden)
    },
    stream: (order, signal) => stream(server, order, signal),
    close() {
      closing.abort()
      return server.close()
    },
  }
}

/** Left early, the body is destroyed by what iterates it, and the server stops generating. */
async function* stream(server: ModelServer, order: Order, signal: AbortSignal): AsyncGenerator<Piece> {
  const answer = await server.post('/chat/completions', bodyOf(order, true), signal)
  try {
    if (String(answer.headers['content-type']).includes('text/event-stream')) {
      yield* readPieces(answer.body, order.model, server.hidden)
      return
    }
    // Some servers know no streaming and send the whole answer at once.
    const { choices, model, usage } = readCompletion(await readJson(answer.body), order.model, server.hidden)
    const { message, finish_reason } = choices[0] ?? { message: { content: '' }, finish_reason: 'stop' }
    if (message.content !== '') yield { kind: 'delta', text: message.content, model }
    yield { kind: 'finish', reason: finish_reason, model, usage }
  } catch (error) {
    throw upstreamRefusal(error, signal)
  }
}

/** The fields that leave, named one by one: nothing else of a caller's request does. */
function bodyOf({ model, messages, temperature, max_tokens }: Order, stream: boolean) {
  return { model, messages, temperature, max_tokens, stream }
}

async function read(answer: Dispatcher.ResponseData, signal: AbortSignal): Promise<unknown> {
  try {
    return await readJson(answer.body)
  } catch (error) {
    throw upstreamRefusal(error, signal)
  }
}
