import { isUtf8 } from 'node:buffer'
import { Failure } from '../../contract/failure.ts'
import { detectFormat } from '../../contract/reply/stream-format.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { readStart } from '../../system/network/fetch-text.ts'
import type { OpenResponse } from '../../system/network/transport.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { ApiError } from '../api-error.ts'
import { readRelayed, readReply } from './completion-stream.ts'
import {
  connectModelServer,
  defaultTimeouts,
  type ModelServer,
  type ModelServerOptions,
  type ModelServerTimeouts,
} from './model-server.ts'
import { invalidResponse, invalidText, modelServerError, reportedError } from './model-server-error.ts'
import {
  parseCompletion,
  parseContexts,
  parseModels,
  parseRelayed,
  parseUsage,
  toChunk,
} from './parse-response.ts'
import type {
  CompletionBody,
  CompletionResult,
  ModelRequest,
  RelayedPart,
  RelayedRequest,
  ReplyPart,
  ReplySource,
} from './reply-source.ts'
import { sendLimited } from './token-limit.ts'

/** How long, in ms, a message waits for the list of models, which only tells whether the default limit is sent. */
const listTimeout = 500

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
  let contexts: ReadonlyMap<string, number> = new Map()
  let listing: Promise<unknown> | undefined

  async function listModels(signal: AbortSignal) {
    const response = await server.get('/models', signal)
    const text = await readText(response).catch((error) => Promise.reject(modelServerError(error, signal)))
    const list = parseText(text)
    contexts = parseContexts(list, server.secrets)
    listing ??= Promise.resolve()
    return parseModels(list, server.secrets)
  }

  /** Sends the default limit if the context of the model is larger. For that, the models are listed once. */
  async function* send<Part>(
    { body, default_max_tokens: limit }: RelayedRequest,
    isRelayed: boolean,
    read: Reader<Part>,
    signal: AbortSignal,
  ): AsyncGenerator<Part> {
    if (limit !== undefined) {
      listing ??= listModels(AbortSignal.timeout(listTimeout)).catch(() => {
        listing = undefined
      })
      await unlessAborted(listing, signal)
    }
    const isLarge = Number(limit) >= Number(contexts.get(body.model))
    yield* sendLimited(body, isLarge ? undefined : limit, async function* (sent) {
      const response = await server.post(sent, isRelayed, signal)
      try {
        yield* read(response, sent, server)
      } catch (error) {
        throw modelServerError(error, signal)
      }
    })
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
      return (await send(requestOf(modelRequest, false), false, complete, signal).next()).value
    },
    stream: (modelRequest, signal) => send(requestOf(modelRequest, true), false, stream, signal),
    relay: (request, signal) => send(request, true, relay, signal),
    reload: () => server.reload(),
    close: () => server.close(),
  }
}

/** If the caller stops early, the iterator destroys the body, and the server stops generating. */
type Reader<Part> = (response: OpenResponse, body: CompletionBody, server: ModelServer) => AsyncIterable<Part>

const complete: Reader<CompletionResult> = async function* (response, { model }, server) {
  yield readWhole(await readText(response), model, server, (json) => parseCompletion(json, model, server))
}

const stream: Reader<ReplyPart> = async function* (received, body, server) {
  const response = await findEvents(received)
  if (isStream(response)) {
    yield* readReply(response, body.model, server.secrets)
    return
  }
  // Some servers do not support streaming and send the whole reply in one piece.
  for await (const { choices, model, usage } of complete(response, body, server)) {
    const [choice] = choices
    const { reasoning = '', content = '' } = choice?.message ?? {}
    if (reasoning !== '') yield { kind: 'reasoning', text: reasoning, model }
    if (content !== '') yield { kind: 'delta', text: content, model }
    const { finish_reason: reason = 'stop', tools } = choice ?? {}
    yield { kind: 'finish', reason, ...(tools && { tools }), model, usage }
  }
}

/** As `stream`, without changes. */
const relay: Reader<RelayedPart> = async function* (received, body, server) {
  const response = body['stream'] === true ? await findEvents(received) : received
  if (body['stream'] === true && isStream(response)) {
    yield* readRelayed(response, body, server.secrets)
    return
  }
  const text = await readText(response)
  const completion = readWhole(text, body.model, server, (json) => parseRelayed(json, server.secrets))
  yield body['stream'] === true ? toChunk(completion) : { data: text, usage: parseUsage(completion.usage) }
}

/** An error with status 200 has the status that it names. */
function readWhole<T>(text: string, model: string, { secrets }: ModelServer, parse: (json: unknown) => T): T {
  const json = parseText(text)
  try {
    return parse(json)
  } catch (error) {
    throw reportedError(json, model, secrets) ?? error
  }
}

/** Without a content type, or with `text/plain`, the first characters tell whether the response is a stream of events. */
async function findEvents(response: OpenResponse): Promise<OpenResponse> {
  if (!/^(text\/plain\b|$)/i.test(response.headers['content-type'] ?? '')) return response
  let read = Buffer.alloc(0)
  while (read.length < maxBeginning && read.toString('latin1').trimStart().length < 'event:'.length) {
    const bytes = await response.read()
    if (!bytes) break
    read = Buffer.concat([read, bytes])
  }
  const isEvents = /^\s*(data|event|id|retry)?:/.test(read.toString('latin1'))
  let beginning: Uint8Array | undefined = read
  return {
    ...response,
    headers: isEvents ? { ...response.headers, 'content-type': 'text/event-stream' } : response.headers,
    cancel: () => response.cancel(),
    read: async () => {
      const bytes = beginning
      beginning = undefined
      return bytes ?? response.read()
    },
  }
}

const isStream = ({ headers }: OpenResponse) =>
  ['sse', 'ndjson'].includes(detectFormat(headers['content-type'] ?? '', '', false) ?? '')

/** Names each field that is sent, so that no other field of a client's request is. */
function requestOf({ default_max_tokens, ...modelRequest }: ModelRequest, stream: boolean) {
  const { model, messages, temperature, max_tokens, response_format } = modelRequest
  return { body: { model, messages, temperature, max_tokens, response_format, stream }, default_max_tokens }
}

/** Maximum number of bytes in which the first characters of a response are looked for. */
const maxBeginning = 1024

/** Maximum size of a response: a faulty server must not exhaust the memory. */
const maxResponseBytes = 4 * 1024 * 1024

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
