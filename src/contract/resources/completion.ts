import * as z from 'zod/mini'
import { type Maybe, type Received, request, response } from './shapes.ts'

const roles = ['system', 'user', 'assistant'] as const

/** One turn of a conversation (docs/interface.md, "Chat completion request"). Both fields are required. */
export interface Message {
  role: (typeof roles)[number]
  content: string
}

/** @internal */
export const message: z.ZodMiniType<Message> = z.strictObject({ role: z.enum(roles), content: z.string() })

/** Requests JSON that fits a JSON Schema. An extension of the embedded service (docs/reference/service.md). */
export interface ResponseFormat {
  type: 'json_schema'
  json_schema: { name: string; schema: Record<string, unknown>; strict?: boolean | undefined }
}

/** @internal */
export const responseFormat = (): z.ZodMiniType<ResponseFormat> =>
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.optional(z.boolean()),
    }),
  })

/** docs/interface.md, "Chat completion request". It has no `stream` field. */
export interface CompletionRequest {
  /** Id of a model, as `models` lists it. */
  model?: string | undefined
  /** The conversation, oldest first. */
  messages?: Message[] | undefined
  temperature?: number | undefined
  /** Maximum number of tokens to generate. */
  max_tokens?: number | undefined
  response_format?: ResponseFormat | undefined
}

/** @internal */
export const completionRequest = request<CompletionRequest>(() => ({
  model: z.string(),
  messages: z.array(message),
  temperature: z.number(),
  max_tokens: z.int(),
  response_format: responseFormat(),
}))

/** Token counts of a completion (docs/interface.md, "Chat completion response"). */
export interface Usage extends Received {
  prompt_tokens?: Maybe<number>
  completion_tokens?: Maybe<number>
  total_tokens?: Maybe<number>
}

const usage = response<Usage>(() => ({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
}))

/** One reply of a completion. */
export interface Choice extends Received {
  /** The text of a reply. */
  message?: Maybe<Received & { role?: Maybe<string>; content?: Maybe<string> }>
  /** `stop` for a complete reply. The service defines the other values. */
  finish_reason?: Maybe<string>
  index?: Maybe<number>
  /** See `ReplyEnd`. Only the embedded service has it, and the names of the tools that the model calls. */
  end?: Maybe<string>
  tools?: Maybe<string[]>
}

const choice = response<Choice>(() => ({
  message: response<NonNullable<Choice['message']>>(() => ({ role: z.string(), content: z.string() })),
  finish_reason: z.string(),
  index: z.int(),
  end: z.string(),
  tools: z.array(z.string()),
}))

/** docs/interface.md, "Chat completion response". */
export interface Completion extends Received {
  id?: Maybe<string>
  /** `chat.completion`. */
  object?: Maybe<string>
  /** Unix time in seconds. */
  created?: Maybe<number>
  /** The model that replied. */
  model?: Maybe<string>
  usage?: Maybe<Usage>
  choices?: Maybe<Choice[]>
}

/** @internal */
export const completion = response<Completion>(() => ({
  id: z.string(),
  object: z.string(),
  created: z.int(),
  model: z.string(),
  usage,
  choices: z.array(choice),
}))

/** docs/interface.md, "Model". */
export interface Model extends Received {
  /** The value for the `model` field of a request. */
  id?: Maybe<string>
  /** Unix time in seconds. */
  created?: Maybe<number>
  /** `model`. */
  object?: Maybe<string>
  owned_by?: Maybe<string>
}

const model = response<Model>(() => ({
  id: z.string(),
  created: z.int(),
  object: z.string(),
  owned_by: z.string(),
}))

/** The response of GET /v1/chat/models (docs/interface.md, "Endpoints"). */
export interface ModelList extends Received {
  data?: Maybe<Model[]>
}

/** @internal */
export const modelList = response<ModelList>(() => ({ data: z.array(model) }))
