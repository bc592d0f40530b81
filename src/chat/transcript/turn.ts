import { endOfReason, type ReplyEnd } from '../../contract/reply/reply-end.ts'
import type { Usage } from '../../contract/resources/completion.ts'
import { countOf } from '../../view/format/quantities.ts'
import { noteReplyEnd } from '../../view/reply-end.ts'
import type { Delivery, LineOf } from './transcript-line.ts'

/**
 * How a turn ended. `unverified`: apparently complete, but the service did not mark the end; `truncated`: by the service
 * or the network; `interrupted`: by the user; `failed`: with an error; `lost`: unknown, because the session itself ended.
 */
type TurnStatus = 'complete' | 'unverified' | 'truncated' | 'interrupted' | 'failed' | 'lost'

/** A prompt and its reply, while it arrives and in a transcript. */
export interface Turn {
  number: number
  /** When the prompt was sent, ISO 8601. */
  at: string
  /** The mode of the session when the prompt was sent. */
  mode: LineOf<'options'>['mode']
  /** The conversation that the reply names, else that of the session when the prompt was sent. */
  contextId?: string | undefined
  user: string
  /** The text of the reply that arrived. */
  reply: string
  /** What the model thought before it replied. */
  reasoning?: string
  /** When the service first replied, ISO 8601. */
  repliedAt?: string
  status: TurnStatus
  /** Why the reply is not complete. */
  reason?: string | undefined
  /** Undefined while the reply arrives, and in transcripts of earlier versions. See `deliveryOf`. */
  delivery?: Delivery | undefined
  id?: string
  /** The model that the reply names. */
  model?: string
  usage?: Usage
  finishReason?: string | undefined
  /** How the reply ended. Earlier versions did not record it. */
  end?: ReplyEnd | undefined
  /** The tools that the model called. */
  tools?: string[] | undefined
  /** Milliseconds to the first piece of the reply. */
  firstMs?: number | undefined
  totalMs?: number | undefined
  /** The public events of the reply, in their order, without the `end`. */
  events: { v: 1; type: string; text?: string }[]
}

export type ReplyLine = LineOf<'start' | 'reasoning' | 'delta' | 'usage' | 'end' | 'delivery' | 'recovered'>

export function openTurn(
  { turn: number, at, text: user }: LineOf<'user'>,
  { mode, contextId }: Pick<Turn, 'mode' | 'contextId'>,
): Turn {
  return {
    number,
    at,
    mode,
    contextId,
    user,
    reply: '',
    status: 'lost',
    reason: 'ended by a crash',
    events: [],
  }
}

/** Adds a line to its turn. What follows the end is ignored. */
export function takeLine(turn: Turn, line: ReplyLine): void {
  if ('at' in line) turn.repliedAt ??= line.at
  if (line.type === 'recovered') recover(turn, line.text)
  if (line.type === 'delivery') turn.delivery = line.delivery
  if (line.type === 'recovered' || line.type === 'delivery' || turn.status !== 'lost') return
  if (line.type === 'start' || line.type === 'end') {
    if (line.id !== undefined) turn.id = line.id
    turn.contextId = line.context_id ?? turn.contextId
  }
  if (line.type === 'end') {
    finish(turn, line)
    return
  }
  if (line.type === 'start' && line.model !== undefined) turn.model = line.model
  if (line.type === 'usage') turn.usage = line.usage
  if (line.type === 'reasoning') turn.reasoning = (turn.reasoning ?? '') + line.text
  if (line.type === 'delta') turn.reply += line.text
  const { turn: _, at: __, ...event } = { at: undefined, ...line }
  turn.events.push({ v: 1, ...event })
}

function finish(turn: Turn, line: LineOf<'end'>): void {
  const { interrupted, error, complete, verified, end, tools } = line
  const arrived = complete ? (verified ? 'complete' : 'unverified') : 'truncated'
  turn.status = interrupted ? 'interrupted' : error ? 'failed' : arrived
  turn.reason = line.reason ?? error?.message
  turn.finishReason = line.finish_reason
  if (end) turn.end = end
  if (tools) turn.tools = tools
  turn.firstMs = line.first_ms
  turn.totalMs = line.total_ms
  turn.delivery = line.delivery ?? deliveryOf(turn, refusals.has(error?.code ?? ''))
}

/** Codes of errors of earlier versions, which did not record the delivery, that mean a refusal. */
const refusals = new Set([
  'unauthorized',
  'forbidden',
  'not_found',
  'rejected',
  'refused',
  'rate_limited',
  'tls',
])

interface SentMessage extends Pick<Turn, 'mode' | 'contextId' | 'firstMs' | 'end'> {
  /** Whether anything of a reply has arrived. */
  hasBegun: boolean
  /** Whether the request certainly had no effect. */
  isRefused: boolean
}

/** Decides a delivery when the outcome of the request is known. */
export function decideDelivery({
  mode,
  contextId,
  firstMs,
  end,
  hasBegun,
  isRefused,
}: SentMessage): Delivery {
  if (!hasBegun && isRefused) return 'not_sent'
  // The service stores no completion, and without the name of its conversation, no message can be found there.
  if (mode === 'completions' || (hasBegun && contextId === undefined)) return 'local'
  return hasBegun && (firstMs !== undefined || end !== 'failed') ? 'stored' : 'unknown'
}

/** What is known of the delivery of a turn. */
export function deliveryOf(turn: Turn, isRefused = false): Delivery {
  if (turn.delivery) return turn.delivery
  const hasBegun = isEnded(turn) || turn.firstMs !== undefined || turn.events[0]?.type === 'start'
  const end = turn.end ?? (turn.status === 'failed' ? 'failed' : undefined)
  return decideDelivery({ ...turn, end, hasBegun, isRefused })
}

/** The deliveries of messages that only this machine has. */
export const isLocal = (delivery: Delivery): boolean => delivery === 'local' || delivery === 'not_sent'

/** Replaces the reply with the text from the history. The part that had arrived is a prefix of it, or wrong. */
function recover(turn: Turn, text: string): void {
  const isPrefix = text.startsWith(turn.reply)
  const rest = isPrefix ? text.slice(turn.reply.length) : text
  if (!isPrefix) turn.events = turn.events.filter(({ type }) => type !== 'delta')
  if (rest !== '') turn.events.push({ v: 1, type: 'delta', text: rest })
  turn.reply = text
  // The history does not tell whether the text is complete.
  turn.status = 'unverified'
  turn.reason = undefined
  delete turn.end
}

/** Whether a turn has its whole reply, as far as the service says. */
export const isEnded = ({ status }: Turn): boolean => status === 'complete' || status === 'unverified'

/** How a reply ended. Of an earlier version, what its finish reason says, if anything. */
export function endOf({ end, finishReason = '' }: Pick<Turn, 'end' | 'finishReason'>): ReplyEnd | undefined {
  return end ?? endOfReason(finishReason)
}

/**
 * Why a reply may be incomplete: `truncated after 214 characters: the connection was reset`. Undefined for a whole reply.
 */
export function describeStatus(turn: Turn): string | undefined {
  const { status, reply, reason, finishReason, tools, reasoning } = turn
  const why = noteReplyEnd({ end: endOf(turn), finishReason, tools }, reasoning !== undefined)
  if (status === 'complete') return why
  const unverified = 'unverified: the service did not mark the end of the reply'
  if (status === 'unverified') return why === undefined ? unverified : `${why}; ${unverified}`
  const length = Array.from(reply).length
  const after = length === 0 ? '' : ` after ${countOf(length, 'character')}`
  return `${status}${after}${reason === undefined ? '' : `: ${reason}`}`
}
