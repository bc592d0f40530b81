import * as z from 'zod/mini'
import type { Model } from '../../contract/resources/completion.ts'
import { reasoningIn } from '../../contract/resources/stream-event.ts'
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

const choice = z.looseObject({
  message: z.looseObject({ role: text, content: z.nullish(z.string()) }),
  finish_reason: text,
  index: count,
})

/** Some servers send -1 for a count that they do not know. */
const tokens = z.catch(
  z.optional(
    z.pipe(z.number().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER)), z.transform(Math.floor)),
  ),
  undefined,
)

const usage = z.looseObject({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens })

const completion = z.looseObject({
  created: count,
  model: text,
  usage: z.optional(z.unknown()),
  choices: z.array(choice),
})

const relayed = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({}) })).check(z.minLength(1)),
  usage: z.optional(z.unknown()),
})

/**
 * @param secrets see `ModelServer`
 * @throws ApiError `model_server_error` for a body that is not a completion
 */
export const parseRelayed = (body: unknown, secrets: readonly string[]): z.infer<typeof relayed> =>
  parse(relayed, body, secrets)

/** A whole completion as the only part of a stream, in which a tool call has an index. */
export function toChunk({ choices, ...rest }: z.infer<typeof relayed>): RelayedPart {
  const chunks = choices.map(({ message: { tool_calls: calls, ...message }, ...choice }) => {
    const tool_calls = Array.isArray(calls) ? calls.map((call, index) => ({ index, ...call })) : undefined
    return { ...choice, delta: { ...message, tool_calls } }
  })
  const data = JSON.stringify({ ...rest, object: 'chat.completion.chunk', choices: chunks })
  return { data, usage: parseUsage(rest.usage) }
}

/**
 * @param secrets see `ModelServer`
 * @throws ApiError `model_server_error` for a body that is not a list of models
 */
export function parseModels(body: unknown, secrets: readonly string[]): Model[] {
  return parse(modelList, body, secrets).data.map(({ id, created, owned_by }) => ({
    id,
    created: created ?? 0,
    object: 'model',
    owned_by: owned_by ?? '',
  }))
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
  const { choices, created, model, usage } = parse(completion, body, secrets)
  if (choices.length === 0) throw invalidResponse('sent a response without choices')
  return {
    created: created ?? Math.floor(clock.now() / 1000),
    model: model ?? asked,
    usage: parseUsage(usage) ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    choices: choices.map(({ message, finish_reason, index }, position) => {
      const reasoning = reasoningIn(message)
      return {
        index: index ?? position,
        message: {
          role: message.role ?? 'assistant',
          content: message.content ?? '',
          ...(reasoning !== undefined && { reasoning }),
        },
        finish_reason: finish_reason ?? 'stop',
      }
    }),
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
  // Some gateways report an error of the model server with status 200.
  const words = Object(body).error ? messageInBody(body, secrets) : undefined
  throw words === undefined
    ? invalidResponse('sent a response that is not in the OpenAI format', result.error)
    : invalidResponse(`failed: ${words}`)
}
