import * as z from 'zod/mini'
import { readWholeReply } from '../../contract/reply/assembly.ts'
import { reasonFor } from '../../contract/reply/reply-end.ts'
import type { Model } from '../../contract/resources/completion.ts'
import type { ModelServer } from './model-server.ts'
import { invalidResponse, messageInBody } from './model-server-error.ts'
import type { CompletionResult, RelayedPart, TokenCounts } from './reply-source.ts'

/**
 * The fields of a model server's response that this service needs. Other fields that are missing or
 * invalid are omitted, so that a usable response is not refused.
 */
const text = z.catch(z.optional(z.string()), undefined)
const count = z.catch(z.optional(z.pipe(z.number(), z.transform(Math.floor))), undefined)

const modelList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), created: count, owned_by: text })),
})

/** Some servers send -1 for a count that they do not know. */
const tokens = z.catch(
  z.optional(
    z.pipe(z.number().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER)), z.transform(Math.floor)),
  ),
  undefined,
)

const usage = z.looseObject({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens })

const otherFormat = 'sent a response that is not in the OpenAI format'

const relayed = z.looseObject({
  choices: z.array(z.looseObject({ message: z.optional(z.looseObject({})) })).check(z.minLength(1)),
  usage: z.optional(z.unknown()),
})

/** @param secrets see `ModelServer` @throws ApiError `model_server_error` for a body that is not a completion */
export function parseRelayed(body: unknown, secrets: readonly string[]): z.infer<typeof relayed> {
  readChoices(body, secrets)
  return parse(relayed, body, secrets)
}

/** @throws ApiError `model_server_error` if the body contains no reply, or says that the model failed */
function readChoices(body: unknown, secrets: readonly string[]) {
  const { choices } = Object(body)
  const all: unknown[] = Array.isArray(choices) && choices.length > 0 ? choices : [undefined]
  return all.map((choice, position) => {
    const reply = readWholeReply(body, choice)
    // Some gateways report an error of the model server with status 200, at the top or in the choice.
    if (reply.failure?.kind === 'invalid_response') throw invalidResponse(otherFormat)
    if (reply.failure) throw invalidResponse(`failed: ${messageInBody(reply.failure, secrets)}`)
    const { index, message } = Object(choice)
    return { ...reply, index: count.parse(index) ?? position, role: text.parse(message?.role) }
  })
}

/** A whole completion as the only part of a stream, in which a tool call has an index. */
export function toChunk({ choices, ...rest }: z.infer<typeof relayed>): RelayedPart {
  const chunks = choices.map(({ message: { tool_calls: calls, ...message } = {}, ...choice }) => {
    const tool_calls = Array.isArray(calls) ? calls.map((call, index) => ({ index, ...call })) : undefined
    return { ...choice, delta: { ...message, tool_calls } }
  })
  const data = JSON.stringify({ ...rest, object: 'chat.completion.chunk', choices: chunks })
  return { data, usage: parseUsage(rest.usage) }
}

/**
 * The models with all their fields.
 * @param secrets see `ModelServer`
 * @throws ApiError `model_server_error` for a body that is not a list of models
 */
export function parseModels(body: unknown, secrets: readonly string[]): Model[] {
  return parse(modelList, body, secrets).data.map((model) => ({
    ...model,
    created: model.created ?? 0,
    object: 'model',
    owned_by: model.owned_by ?? '',
  }))
}

/** The context sizes of models: of vLLM and SGLang, of gateways, and of llama.cpp. @throws as `parseModels` */
export function parseContexts(body: unknown, secrets: readonly string[]) {
  const sizes = parse(modelList, body, secrets).data.map((model) => {
    const { max_model_len, context_length, meta } = model
    return [model.id, Number(max_model_len ?? context_length ?? Object(meta).n_ctx_train)] as const
  })
  // Some gateways send 0 for a size that they do not know.
  return new Map(sizes.filter(([, size]) => size > 0))
}

/**
 * @param asked the requested model, for a server that does not name the model in its response
 * @throws ApiError `model_server_error` for a body that is not a completion
 */
export function parseCompletion(
  body: unknown,
  asked: string,
  { secrets, clock }: Pick<ModelServer, 'secrets' | 'clock'>,
): CompletionResult {
  const choices = readChoices(body, secrets)
  return {
    created: count.parse(Object(body).created) ?? Math.floor(clock.now() / 1000),
    model: choices[0]?.model ?? asked,
    usage: parseUsage(choices[0]?.usage) ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    choices: choices.map(({ index, role, text, reasoning, end, tools, finishReason }) => ({
      index,
      message: { role: role ?? 'assistant', content: text, ...(reasoning !== '' && { reasoning }) },
      finish_reason: reasonFor(end, finishReason),
      ...(tools && { tools }),
    })),
  }
}

/** Token counts; a missing one is 0. Undefined if the server sends none. */
export function parseUsage(given: unknown): TokenCounts | undefined {
  // Nearly every chunk of a stream has none.
  if (typeof given !== 'object' || given === null) return undefined
  const counts = usage.safeParse(given).data
  if (!counts) return undefined
  const { prompt_tokens = 0, completion_tokens = 0 } = counts
  const total_tokens = counts.total_tokens ?? prompt_tokens + completion_tokens
  return { prompt_tokens, completion_tokens, total_tokens }
}

function parse<S extends z.ZodMiniType>(schema: S, body: unknown, secrets: readonly string[]): z.infer<S> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const words = Object(body).error ? messageInBody(body, secrets) : undefined
  throw words === undefined ? invalidResponse(otherFormat, result.error) : invalidResponse(`failed: ${words}`)
}
