import * as z from 'zod/mini'
import { isRecord, parseJson } from '../../contract/notation/exact-json.ts'
import { orElse } from '../../contract/or-else.ts'
import { endOfReason, type ReplyEnd, replyEnds } from '../../contract/reply/reply-end.ts'
import { type Message, message, type Usage } from '../../contract/resources/completion.ts'
import { splitFiles } from '../../contract/resources/file-block.ts'
import type { StreamEvent } from '../../contract/resources/stream-event.ts'
import { oneLine } from '../../terminal/strip-controls.ts'
import { countOf } from '../../view/format/quantities.ts'
import { noteReplyEnd } from '../../view/reply-end.ts'

/**
 * How a turn ended. `unverified`: apparently complete, but the service did not mark the end;
 * `truncated`: by the service or the network; `interrupted`: by the user; `failed`: with an error;
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
  /** The conversation that the reply names. */
  contextId?: string
  /** The mode and the conversation of the session when the prompt was sent. */
  origin: Pick<Transcript, 'mode' | 'contextId'>
  id?: string
  /** The model that the reply names. */
  model?: string
  usage?: Usage
  finishReason?: string
  /** How the reply ended. Earlier versions did not record it. */
  end?: ReplyEnd
  /** The tools that the model called. */
  tools?: string[]
  /** Why the reply is not complete. */
  reason?: string
  /** Milliseconds to the first piece of the reply. */
  firstMs?: number
  totalMs?: number
  /** The events of the stream, in their order, without the `end`. */
  events: Exclude<StreamEvent, { type: 'end' }>[]
}

/** The name of the profile with an ID. Undefined if the profile was removed. */
export type ProfileNameOf = (id: string) => string | undefined

/** The given name of a session, else the first line of the first message, or the first file if there is only that. */
export function nameOf({ name, turns: [first] }: Pick<Transcript, 'name' | 'turns'>): string | undefined {
  if (name !== undefined || first === undefined) return name
  const { text, files } = splitFiles(first.user)
  return oneLine(/\S.*/.exec(text)?.[0] ?? files[0]?.name ?? '') || undefined
}

/** A name as it is stored: one line of at most 100 characters. */
export function cleanName(name: string): string {
  return oneLine(name, 100)
}

/** The profile of a session, for a user. */
export function describeProfile(id: string, nameOf: ProfileNameOf): string {
  return `profile ${nameOf(id) ?? `${id} (removed)`}`
}

export interface Transcript {
  id: string
  /** When it began and when it was last written, ISO 8601. Empty if unknown. */
  at: string
  updatedAt: string
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
  name?: string
  /** The session, or the conversation on the service, of which this one is a fork. */
  forkedFrom?: string | undefined
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
  /** Whether the service has all of it, also if replies come from completions. */
  isOnService: boolean
  /** Whether only the service has earlier messages. */
  lacksBeginning: boolean
}

/** A session, as lists show it. Its `model` may be the one that the last reply named. */
export interface TranscriptSummary extends Omit<Transcript, 'turns' | 'conversation'> {
  path: string
  turns: number
  /** Whether the name was given, and is not the automatic one. */
  isNamed: boolean
  firstMessage?: string
}

/**
 * Why a reply may be incomplete: `truncated after 214 characters: the connection was reset`. Undefined
 * for a whole reply.
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

/** How a reply ended. Of an earlier version, what its finish reason says, if anything. */
export function endOf({ end, finishReason = '' }: Pick<Turn, 'end' | 'finishReason'>): ReplyEnd | undefined {
  return end ?? endOfReason(finishReason)
}

/** Whether a turn has its whole reply, as far as the service says. */
export const isEnded = (status: Turn['status']): boolean => status === 'complete' || status === 'unverified'

const optionalText = z.optional(z.string())

/** Not validated: passed on as the service sent it. */
const usage = z.custom<Usage>(isRecord)

/**
 * One line of a transcript, version 1. Readers ignore unknown fields, so that a later version can add
 * fields. `at` is ISO 8601 in UTC, `…_ms` is milliseconds.
 */
const transcriptLine = z.discriminatedUnion('type', [
  /** The first line. `base_url` is null for the embedded service. */
  z.object({
    v: z.number(),
    type: z.literal('session'),
    id: z.string(),
    at: z.string(),
    profile: z.nullable(z.string()),
    base_url: z.nullable(z.string()),
    forked_from: optionalText,
  }),
  z.object({ type: z.literal('name'), name: z.string() }),
  /** The options in force from here on. An omitted option is not set. */
  z.object({
    type: z.literal('options'),
    at: z.string(),
    mode: z.enum(['context', 'completions']),
    context_id: optionalText,
    model: optionalText,
    system: optionalText,
    temperature: z.optional(z.number()),
    max_tokens: z.optional(z.number()),
  }),
  /** The messages so far, replacing all earlier ones. */
  z.object({
    type: z.literal('conversation'),
    at: z.string(),
    messages: z.array(message),
    /** Only the service has earlier messages. */
    lacks_beginning: z.optional(z.literal(true)),
  }),
  z.object({ type: z.literal('user'), turn: z.number(), at: z.string(), text: z.string() }),
  z.object({
    type: z.literal('start'),
    turn: z.number(),
    at: z.string(),
    context_id: optionalText,
    id: optionalText,
    model: optionalText,
  }),
  /** What the model thinks before it replies. It is never sent to a model again. */
  z.object({ type: z.literal('reasoning'), turn: z.number(), text: z.string() }),
  z.object({ type: z.literal('delta'), turn: z.number(), text: z.string() }),
  z.object({ type: z.literal('usage'), turn: z.number(), usage }),
  /** The end of a reply, whose text is in the `delta` lines. */
  z.object({
    type: z.literal('end'),
    turn: z.number(),
    at: z.string(),
    complete: z.boolean(),
    verified: z.boolean(),
    finish_reason: optionalText,
    end: z.catch(z.optional(z.enum(replyEnds)), undefined),
    tools: z.catch(z.optional(z.array(z.string())), undefined),
    id: optionalText,
    context_id: optionalText,
    reason: optionalText,
    interrupted: z.optional(z.literal(true)),
    error: z.optional(z.object({ code: z.string(), message: z.string() })),
    first_ms: z.optional(z.number()),
    total_ms: z.optional(z.number()),
  }),
  /** The whole reply, read from the history of the service later. */
  z.object({ type: z.literal('recovered'), turn: z.number(), at: z.string(), text: z.string() }),
])

export type TranscriptLine = z.infer<typeof transcriptLine>

export type LineOf<T extends TranscriptLine['type']> = Extract<TranscriptLine, { type: T }>

/** Parses a line. Undefined for a truncated line or an unknown type. */
export function parseLine(text: string): TranscriptLine | undefined {
  return orElse(() => transcriptLine.safeParse(parseJson(text)).data, undefined)
}
