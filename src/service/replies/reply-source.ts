import type { CompletionRequest, Message, Model } from '../../contract/resources/completion.ts'

/** The source of replies: a model server or the built-in model. An aborted signal ends its work immediately. */
export interface ReplySource {
  /**
   * @throws ApiError `model_server_overloaded`, `model_server_error`, `model_server_unreachable`,
   * `model_server_timeout`; the signal's reason
   */
  listModels(signal: AbortSignal): Promise<Model[]>
  /**
   * The model for a request that names none: the first of the list.
   * @throws ApiError `model_not_found` for an empty list; as `listModels`
   */
  defaultModel(signal: AbortSignal): Promise<string>
  /** @throws ApiError `model_not_found`, `context_too_long`; as `listModels` */
  complete(modelRequest: ModelRequest, signal: AbortSignal): Promise<CompletionResult>
  /**
   * Yields the reply in parts as they arrive. The last part is a `finish`; a truncated reply throws
   * instead, so that it is not taken for a complete one.
   */
  stream(modelRequest: ModelRequest, signal: AbortSignal): AsyncIterable<ReplyPart>
  /**
   * Passes on the request of an OpenAI client, and yields the response: whole, or the data of each event of a stream,
   * but not `[DONE]`. A truncated reply throws, as in `stream`. Undefined for a source without OpenAI's API.
   */
  relay: ((request: RelayedRequest, signal: AbortSignal) => AsyncIterable<RelayedPart>) | undefined
  /** Reads the file with the key again. @throws Failure `config`, and keeps the old key */
  reload(): void
  close(): Promise<void>
}

/** A request to a model. No other field is sent to a model server. */
export interface ModelRequest {
  model: string
  messages: readonly Message[]
  temperature?: number | undefined
  max_tokens?: number | undefined
  /** The limit of the settings, for a request without `max_tokens`. */
  default_max_tokens?: number | undefined
  response_format?: CompletionRequest['response_format']
}

/** The body of a request for a chat completion of OpenAI's API, with any other fields. */
export interface CompletionBody extends Record<string, unknown> {
  model: string
}

export type RelayedRequest = Pick<ModelRequest, 'default_max_tokens'> & { body: CompletionBody }

/** JSON, and the usage in it. */
export interface RelayedPart {
  data: string
  usage?: TokenCounts | undefined
}

export interface CompletionResult {
  /** Unix time in seconds. */
  created: number
  model: string
  usage: TokenCounts
  choices: {
    index: number
    /** `reasoning` is omitted if the model server sends none. */
    message: { role: string; content: string; reasoning?: string }
    finish_reason: string
    tools?: string[]
  }[]
}

export type TokenCounts = { prompt_tokens: number; completion_tokens: number; total_tokens: number }

/** A `delta` is the next part of the reply. `reasoning` is what the model thinks before it. */
export type TextPart = { kind: 'reasoning' | 'delta'; text: string; model: string }

export type ReplyPart =
  | TextPart
  /** `usage` is undefined if the server does not report it. `reason` is one that means the end: see `reasonFor`. */
  | { kind: 'finish'; reason: string; tools?: string[]; model: string; usage: TokenCounts | undefined }
