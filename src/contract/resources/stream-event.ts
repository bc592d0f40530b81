import type { Failure } from '../failure.ts'
import type { ReplyEnd } from '../reply/reply-end.ts'
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
  /** Undefined only in transcripts of earlier versions. */
  end: ReplyEnd | undefined
  /** False if the end is `failed` or `truncated`. */
  complete: boolean
  /** Whether the service marked the end of the reply; some formats have no mark. */
  verified: boolean
  finishReason?: string
  id?: string
  contextId?: string
  /** Timestamp, as the service wrote it. */
  createdAt?: string
  model?: string
  usage?: Usage
  /** The tools that the model calls. */
  tools?: string[]
  /** The whole text, without the reasoning. The text of a refusal is a part of it. */
  text: string
  /** Why the reply is incomplete. */
  reason?: string
  /** The same as a failure, for callers that need the whole reply. */
  failure?: Failure
  /** Set if the service did not stream, and sent one JSON body. */
  isWholeBody?: true
}
