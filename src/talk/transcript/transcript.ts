import type { Message, Usage } from '../../contract/completion.ts'
import type { StreamEvent } from '../../contract/stream-event.ts'
import { countOf } from '../../view/count.ts'

/**
 * How a turn ended. `unverified`: as far as anybody can tell complete; `truncated`: by the service
 * or the network; `interrupted`: by the person; `failed`: with an error; `lost`: nothing tells,
 * for the session itself was cut off.
 */
type TurnStatus = 'complete' | 'unverified' | 'truncated' | 'interrupted' | 'failed' | 'lost'

/** A question and its answer. */
export interface Turn {
  number: number
  /** When the question was put, ISO 8601. */
  at: string
  user: string
  /** What came of the answer. */
  reply: string
  status: TurnStatus
  contextId?: string
  id?: string
  /** The model that says that it answered. */
  model?: string
  usage?: Usage
  finishReason?: string
  /** Why the answer is not complete. */
  reason?: string
  /** Milliseconds to the first piece of the answer. */
  firstMs?: number
  totalMs?: number
  /** What the stream gave, in its order; its `end` left away. */
  events: Exclude<StreamEvent, { type: 'end' }>[]
}

/** A session as its transcript has it. */
export interface Transcript {
  id: string
  /** When it began and when it was last written to, ISO 8601; empty where nothing tells. */
  at: string
  updatedAt: string
  profile: string | null
  /** Null is the embedded service. */
  baseUrl: string | null
  name?: string
  /** The conversation on the service, and all the options, that are in force at the end. */
  contextId?: string
  mode: 'context' | 'completions'
  /** The model that was asked for. */
  model?: string
  system?: string
  temperature?: number
  maxTokens?: number
  turns: Turn[]
  /**
   * What completions go on from: the last one that was set down, and what was said since. A
   * question that got no word of an answer is left out.
   */
  conversation: Message[]
  /** Whether the service's context has all of it, though replies come from completions. */
  isOnService: boolean
  /** Whether what came before that is on the service alone. */
  lacksBeginning: boolean
}

/**
 * What is not right with an answer: `truncated after 214 characters: the answer broke off`. Undefined
 * for one that is complete.
 */
export function describeStatus({ status, reply, reason }: Turn): string | undefined {
  if (status === 'complete') return undefined
  if (status === 'unverified') return 'unverified: the service did not mark the end of the reply'
  const length = Array.from(reply).length
  const after = length === 0 ? '' : ` after ${countOf(length, 'character')}`
  return `${status}${after}${reason === undefined ? '' : `: ${reason}`}`
}
