import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Model } from '../../contract/model.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { ApiError } from '../api-error.ts'
import { readReply } from './completion-stream.ts'
import {
  connectModelServer,
  defaultTimeouts,
  type ModelServer,
  type UpstreamTimeouts,
} from './model-server.ts'
import { parseCompletion, parseModels } from './parse-response.ts'
import type { ModelRequest, ReplyPart, Upstream } from './upstream.ts'
import type { UpstreamOptions } from './upstream-address.ts'
import { invalidResponse, upstreamError } from './upstream-error.ts'

/**
 * A model server that speaks the OpenAI chat completions format.
 * @throws Failure `config` or `refused` for a URL or a key that cannot be used
 */
export async function createOpenAiCompatible(
  options: UpstreamOptions,
  timeouts: UpstreamTimeouts = defaultTimeouts,
  clock: Clock = systemClock,
): Promise<Upstream> {
  const server = await connectModelServer(options, timeouts, clock)
  const closing = new AbortController()

  async function listModels(signal: AbortSignal) {
    const response = await server.get('/models', signal)
    return parseModels(await readJson(response, signal), server.secrets)
  }

  return {
    listModels,
    defaultModel: rememberFirstModel(() => listModels(closing.signal), clock),
    async complete(modelRequest, signal) {
      const response = await server.post('/chat/completions', bodyOf(modelRequest, false), signal)
      return parseCompletion(await readJson(response, signal), modelRequest.model, server)
    },
    stream: (modelRequest, signal) => stream(server, modelRequest, signal),
    close() {
      closing.abort()
      return server.close()
    },
  }
}

/** Left early, the body is destroyed by what iterates it, and the server stops generating. */
async function* stream(
  server: ModelServer,
  modelRequest: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyPart> {
  const response = await server.post('/chat/completions', bodyOf(modelRequest, true), signal)
  try {
    if (String(response.headers['content-type']).includes('text/event-stream')) {
      yield* readReply(response.body, modelRequest.model, server.secrets)
      return
    }
    // Some servers know no streaming and send the whole answer at once.
    const { choices, model, usage } = parseCompletion(
      await readJsonBody(response.body),
      modelRequest.model,
      server,
    )
    const { message, finish_reason } = choices[0] ?? { message: { content: '' }, finish_reason: 'stop' }
    if (message.content !== '') yield { kind: 'delta', text: message.content, model }
    yield { kind: 'finish', reason: finish_reason, model, usage }
  } catch (error) {
    throw upstreamError(error, signal)
  }
}

/** The fields that leave, named one by one: nothing else of a caller's request does. */
function bodyOf({ model, messages, temperature, max_tokens }: ModelRequest, stream: boolean) {
  return { model, messages, temperature, max_tokens, stream }
}

async function readJson(response: Dispatcher.ResponseData, signal: AbortSignal): Promise<unknown> {
  try {
    return await readJsonBody(response.body)
  } catch (error) {
    throw upstreamError(error, signal)
  }
}

/** The most that one answer may hold, in bytes: a server gone wrong must not fill the memory. */
const maxResponseBytes = 4 * 1024 * 1024

/** @throws ApiError `upstream_error` for what is too large or not JSON; whatever reading throws */
async function readJsonBody(body: Readable): Promise<unknown> {
  const bytes = await readAll(body)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw invalidResponse('sent a response that is not JSON', cause)
  }
}

/** By events, which cost a fraction of an async iterator. */
function readAll(body: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    body.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxResponseBytes) body.destroy(invalidResponse('sent a response of more than 4 MiB'))
    })
    body.once('end', () => resolve(Buffer.concat(chunks)))
    body.once('error', reject)
    body.once('close', () => {
      if (!body.readableEnded) reject(invalidResponse('interrupted the response'))
    })
  })
}

/** How long, in ms, a list of models is good for when only its first is asked for. */
const maxAge = 10_000

/**
 * The first model of a server's list. Requests that name no model ask for it each time, so what
 * was found is remembered for some seconds, and those who ask at once share one request, which
 * goes on when one of them goes away. A failure is not remembered.
 * @throws ApiError `model_not_found` when the list is empty; whatever `list` throws; the signal's reason
 */
export function rememberFirstModel(
  list: () => Promise<Model[]>,
  clock: Clock,
): (signal: AbortSignal) => Promise<string> {
  let known: { id: string; until: number } | undefined
  let asking: Promise<string> | undefined

  async function ask(): Promise<string> {
    try {
      const [first] = await list()
      if (!first?.id)
        throw new ApiError('model_not_found', 'The model server lists no models; choose one in the request')
      known = { id: first.id, until: clock.monotonic() + maxAge }
      return first.id
    } finally {
      asking = undefined
    }
  }

  return async (signal) => {
    if (known && clock.monotonic() < known.until) return known.id
    asking ??= ask()
    return unlessAborted(asking, signal)
  }
}
