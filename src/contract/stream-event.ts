import type { Usage } from './completion.ts'
import type { Failure } from './failure.ts'

/** What a person may say that a streamed answer is made of; `auto` is to find out. */
export const streamFormats = ['auto', 'sse', 'ndjson', 'json', 'json-seq', 'text'] as const
export type StreamFormat = (typeof streamFormats)[number]

/** What a streamed answer gives. `start` comes once and first, `end` once and last. */
export type StreamEvent =
  | { type: 'start'; contextId?: string; id?: string; model?: string }
  | { type: 'delta'; text: string }
  | { type: 'usage'; usage: Usage }
  | StreamEnd

/** How a streamed answer ended. */
export interface StreamEnd {
  type: 'end'
  /** Whether nothing shows that something is missing. */
  complete: boolean
  /** Whether the service itself said that the answer was finished. */
  verified: boolean
  finishReason?: string
  id?: string
  contextId?: string
  /** As the service wrote it. */
  createdAt?: string
  /** All of the text. */
  text: string
  /** Why it is not complete. */
  reason?: string
  /** The same, to be thrown by whoever cannot do with a part. */
  failure?: Failure
  /** Whether one JSON body came: the service did not stream. */
  isWholeBody?: true
}
