import type { Message, Usage } from '../../contract/resources/completion.ts'
import { isTokenLimit, type StreamEvent } from '../../contract/resources/stream-event.ts'
import { countOf } from '../../view/format/count.ts'

/**
 * How a turn ended. `unverified`: apparently complete, but the service did not mark the end;
 * `truncated`: by the service or the network; `interrupted`: by the person; `failed`: with an error;
 * `lost`: unknown, because the session itself ended.
 */
type TurnStatus = 'complete' | 'unverified' | 'truncated' | 'interrupted' | 'failed' | 'lost'

/** A prompt and its reply. */
export interface Turn {
  number: number
  /** When the prompt was sent, ISO 8601. */
  at: string
  user: string
  /** The text of the reply that arrived. */
  reply: string
  /** What the model thought before it replied. */
  reasoning?: string
  /** When the service first replied, ISO 8601. */
  repliedAt?: string
  status: TurnStatus
  /** The context that the reply names, and the one in which the prompt was sent. */
  contextId?: string
  sentIn?: string
  id?: string
  /** The model that the reply names. */
  model?: string
  usage?: Usage
  finishReason?: string
  /** Why the reply is not complete. */
  reason?: string
  /** Milliseconds to the first piece of the reply. */
  firstMs?: number
  totalMs?: number
  /** The events of the stream, in their order, without the `end`. */
  events: Exclude<StreamEvent, { type: 'end' }>[]
}

/** The content of a transcript. */
export interface Transcript {
  id: string
  /** When it began and when it was last written, ISO 8601. Empty if unknown. */
  at: string
  updatedAt: string
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
  name?: string
  /** The conversation on the service. This and all options are those in force at the end. */
  contextId?: string
  mode: 'context' | 'completions'
  /** The requested model. */
  model?: string
  system?: string
  temperature?: number
  maxTokens?: number
  turns: Turn[]
  /**
   * The messages that a completion sends: the last `conversation` line, and the turns since. Prompts
   * without a reply are omitted.
   */
  conversation: Message[]
  /** Whether the service's context contains all of it, also if replies come from completions. */
  isOnService: boolean
  /** Whether only the service has earlier messages. */
  lacksBeginning: boolean
}

/**
 * Why a reply may be incomplete: `truncated after 214 characters: the connection was reset`. Undefined
 * for a complete reply below its token limit.
 */
export function describeStatus({ status, reply, reason, finishReason }: Turn): string | undefined {
  if (status === 'complete') return isTokenLimit(finishReason) ? 'truncated at the token limit' : undefined
  if (status === 'unverified') return 'unverified: the service did not mark the end of the reply'
  const length = Array.from(reply).length
  const after = length === 0 ? '' : ` after ${countOf(length, 'character')}`
  return `${status}${after}${reason === undefined ? '' : `: ${reason}`}`
}
