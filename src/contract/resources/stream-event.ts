import type { Failure } from '../failure.ts'
import { isRecord } from '../notation/exact-json.ts'
import type { Usage } from './completion.ts'

export const streamFormats = ['auto', 'sse', 'ndjson', 'json', 'text'] as const

/** The format of a streamed reply, which the interface does not show; `auto` detects it. */
export type StreamFormat = (typeof streamFormats)[number]

/**
 * One part of a streamed reply. `start` comes once and first, `end` once and last. The text of the reply
 * is in `delta` alone: what the model thinks before it replies is in `reasoning`.
 */
export type StreamEvent =
  | { type: 'start'; contextId?: string; id?: string; model?: string }
  | { type: 'reasoning'; text: string }
  | { type: 'delta'; text: string }
  | { type: 'usage'; usage: Usage }
  | StreamEnd

/** How a streamed reply ended. */
export interface StreamEnd {
  type: 'end'
  /** False if the reply is incomplete. */
  complete: boolean
  /** Whether the service marked the end of the reply; some formats have no mark. */
  verified: boolean
  finishReason?: string
  id?: string
  contextId?: string
  /** Timestamp, as the service wrote it. */
  createdAt?: string
  /** The whole text, without the reasoning. */
  text: string
  /** Why the reply is incomplete. */
  reason?: string
  /** The same as a failure, for callers that need the whole reply. */
  failure?: Failure
  /** Set if the service did not stream, and sent one JSON body. */
  isWholeBody?: true
}

/** Whether a finish reason means the maximum number of tokens. Servers have two names for it. */
export function isTokenLimit(reason: unknown): boolean {
  return reason === 'length' || reason === 'max_tokens'
}

/**
 * Fields of a message that contain reasoning. The interface has none; servers for models that reason add
 * one of these, or several with the same text.
 */
const reasoningFields = ['reasoning', 'reasoning_content', 'thinking'] as const

/** The reasoning in a message, or in a part of one. It is never a part of the reply. */
export function reasoningIn(message: unknown): string | undefined {
  if (!isRecord(message)) return undefined
  for (const field of reasoningFields) {
    const text = message[field]
    if (typeof text === 'string' && text !== '') return text
  }
  return undefined
}
