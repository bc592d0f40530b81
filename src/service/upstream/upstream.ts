import type { Message } from '../../contract/completion.ts'
import type { Model } from '../../contract/model.ts'

/** What answers: a model server, or the built-in model. */
export interface Upstream {
  /** @throws Refusal `upstream_error`, `upstream_timeout` */
  listModels(signal: AbortSignal): Promise<Model[]>
  /** @throws Refusal `model_not_found`, `upstream_error`, `upstream_timeout` */
  complete(order: Order, signal: AbortSignal): Promise<CompletionResult>
  /**
   * The same, piece by piece. Ends with a `finish`; an answer that breaks off throws instead, so
   * that no part of one passes for the whole.
   */
  stream(order: Order, signal: AbortSignal): AsyncIterable<Piece>
  close(): Promise<void>
}

/** What a model is asked: these fields and no others reach a model server. */
export interface Order {
  model: string
  messages: readonly Message[]
  temperature?: number | undefined
  max_tokens?: number | undefined
}

export interface CompletionResult {
  /** Unix time in seconds. */
  created: number
  model: string
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  choices: { index: number; message: { role: string; content: string }; finish_reason: string }[]
}

export type Piece =
  | { kind: 'delta'; text: string; model: string }
  | { kind: 'finish'; reason: string; model: string }
