import { isUtf8 } from 'node:buffer'
import { Failure } from '../../contract/failure.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { readStart } from '../../system/network/fetch-text.ts'
import type { OpenResponse } from '../../system/network/transport.ts'
import { ApiError } from '../api-error.ts'
import { readRelayed, readReply } from './completion-stream.ts'
import {
  connectModelServer,
  defaultTimeouts,
  type ModelServer,
  type ModelServerOptions,
  type ModelServerTimeouts,
} from './model-server.ts'
import { invalidResponse, invalidText, modelServerError } from './model-server-error.ts'
import { parseCompletion, parseModels, parseRelayed, parseUsage, toChunk } from './parse-response.ts'
import type { ModelRequest, RelayedPart, RelayedRequest, ReplyPart, ReplySource } from './reply-source.ts'

/** How long, in ms, the first model of a list is reused: each request without a model needs it. */
const maxAge = 10_000

/**
 * A model server with the chat completions API of OpenAI.
 * @throws Failure `config` or `refused` for a URL or a key that cannot be used
 */
export async function createOpenAiCompatible(
  options: ModelServerOptions,
  timeouts: ModelServerTimeouts = defaultTimeouts,
  clock: Clock = systemClock,
): Promise<ReplySource> {
  const server = await connectModelServer(options, timeouts, clock)
  let first: { id: string; until: number } | undefined

  async function listModels(signal: AbortSignal) {
    const response = await server.get('/models', signal)
    return parseModels(await readJson(response, signal), server.secrets)
  }

  return {
    listModels,
    async defaultModel(signal) {
      if (first && clock.monotonic() < first.until) return first.id
      const [model] = await listModels(signal)
      if (!model?.id)
        throw new ApiError('model_not_found', 'The model server lists no models; choose one in the request')
      first = { id: model.id, until: clock.monotonic() + maxAge }
      return model.id
    },
    async complete(modelRequest, signal) {
      const response = await server.post('/chat/completions', bodyOf(modelRequest, false), signal)
      return parseCompletion(await readJson(response, signal), modelRequest.model, server)
    },
    stream: (modelRequest, signal) => stream(server, modelRequest, signal),
    relay: (request, signal) => relay(server, request, signal),
    reload: () => server.reload(),
    close: () => server.close(),
  }
}

/** If the caller stops early, the iterator destroys the body, and the server stops generating. */
async function* stream(
  server: ModelServer,
  modelRequest: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyPart> {
  const response = await server.post('/chat/completions', bodyOf(modelRequest, true), signal)
  try {
    if (isStream(response)) {
      yield* readReply(response, modelRequest.model, server.secrets)
      return
    }
    // Some servers do not support streaming and send the whole reply in one piece.
    const { choices, model, usage } = parseCompletion(
      await readJsonBody(response),
      modelRequest.model,
      server,
    )
    const [choice] = choices
    const { reasoning = '', content = '' } = choice?.message ?? {}
    if (reasoning !== '') yield { kind: 'reasoning', text: reasoning, model }
    if (content !== '') yield { kind: 'delta', text: content, model }
    const { finish_reason: reason = 'stop', tools } = choice ?? {}
    yield { kind: 'finish', reason, ...(tools && { tools }), model, usage }
  } catch (error) {
    throw modelServerError(error, signal)
  }
}

/** As `stream`, without changes. */
async function* relay(
  server: ModelServer,
  request: RelayedRequest,
  signal: AbortSignal,
): AsyncGenerator<RelayedPart> {
  const { secrets } = server
  const response = await server.relay('/chat/completions', request, signal)
  try {
    if (request['stream'] === true && isStream(response)) {
      yield* readRelayed(response, Math.max(1, Number(request['n'] ?? 1)), secrets)
      return
    }
    const text = await readText(response)
    const completion = parseRelayed(parseText(text), secrets)
    yield request['stream'] === true
      ? toChunk(completion)
      : { data: text, usage: parseUsage(completion.usage) }
  } catch (error) {
    throw modelServerError(error, signal)
  }
}

const isStream = ({ headers }: OpenResponse) =>
  /event-stream|ndjson|json-?l/i.test(headers['content-type'] ?? '')

/** Names each field that is sent, so that no other field of a client's request is. */
function bodyOf(modelRequest: ModelRequest, stream: boolean) {
  const { model, messages, temperature, max_tokens, response_format } = modelRequest
  return { model, messages, temperature, max_tokens, response_format, stream }
}

async function readJson(response: OpenResponse, signal: AbortSignal): Promise<unknown> {
  try {
    return await readJsonBody(response)
  } catch (error) {
    throw modelServerError(error, signal)
  }
}

/** Maximum size of a response: a faulty server must not exhaust the memory. */
const maxResponseBytes = 4 * 1024 * 1024

/** @throws as `readText`; ApiError `model_server_error` for a body that is not JSON */
const readJsonBody = async (response: OpenResponse): Promise<unknown> => parseText(await readText(response))

/** @throws ApiError `model_server_error` for a body that is too large or not UTF-8; Interrupted */
async function readText(response: OpenResponse): Promise<string> {
  const { bytes, cut, interruption } = await readStart(response, maxResponseBytes)
  if (interruption) throw interruption
  if (cut) throw invalidResponse('sent a response of more than 4 MiB')
  if (!isUtf8(bytes)) throw invalidText()
  return bytes.toString('utf8')
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalidResponse('sent a response that is not JSON', cause)
  }
}

/**
 * The number of models of a model server, without a service.
 *
 * @throws Failure `unreachable` if it does not list them; as `findModelServer`; the signal's reason
 */
export async function countModels(
  options: ModelServerOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const server = await createOpenAiCompatible(options, undefined, clock)
  try {
    return (await server.listModels(signal)).length
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Failure('unreachable', error.message, { code: error.code, details: error.details })
  } finally {
    await server.close()
  }
}
