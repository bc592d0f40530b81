import type { Message } from '../../contract/completion.ts'
import type { Model } from '../../contract/model.ts'

/** What answers: a model server, or the built-in model. An aborted signal ends its work at once. */
export interface Upstream {
  /**
   * @throws ApiError `upstream_overloaded`, `upstream_error`, `upstream_unreachable`,
   * `upstream_timeout`; the signal's reason
   */
  listModels(signal: AbortSignal): Promise<Model[]>
  /**
   * The model for a request that names none: the first of the list.
   * @throws ApiError `model_not_found` when there is none; as `listModels`
   */
  defaultModel(signal: AbortSignal): Promise<string>
  /**
   * @throws ApiError `model_not_found`, `context_too_long`; as `listModels`
   */
  complete(modelRequest: ModelRequest, signal: AbortSignal): Promise<CompletionResult>
  /**
   * The same, piece by piece. Ends with a `finish`; an answer that breaks off throws instead, so
   * that no part of one passes for the whole.
   */
  stream(modelRequest: ModelRequest, signal: AbortSignal): AsyncIterable<ReplyPart>
  close(): Promise<void>
}

/** What a model is asked: these fields and no others reach a model server. */
export interface ModelRequest {
  model: string
  messages: readonly Message[]
  temperature?: number | undefined
  max_tokens?: number | undefined
}

export interface CompletionResult {
  /** Unix time in seconds. */
  created: number
  model: string
  usage: TokenCounts
  choices: { index: number; message: { role: string; content: string }; finish_reason: string }[]
}

/** Counts of tokens. */
export type TokenCounts = { prompt_tokens: number; completion_tokens: number; total_tokens: number }

export type ReplyPart =
  | { kind: 'delta'; text: string; model: string }
  /** `usage` is undefined where the server did not tell. */
  | { kind: 'finish'; reason: string; model: string; usage: TokenCounts | undefined }
