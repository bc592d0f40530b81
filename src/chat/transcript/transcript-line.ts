import * as z from 'zod/mini'
import { isRecord, parseJson } from '../../contract/notation/exact-json.ts'
import { orElse } from '../../contract/or-else.ts'
import { replyEnds } from '../../contract/reply/reply-end.ts'
import { message, type Usage } from '../../contract/resources/completion.ts'

/**
 * Where a turn is. `stored`: the service confirmed that it has it; `local`: only this machine has it; `not_sent`: the
 * request certainly had no effect; `unknown`: the service may have it.
 */
const deliveries = ['stored', 'local', 'not_sent', 'unknown'] as const
export type Delivery = (typeof deliveries)[number]

const text = z.string()
const optionalText = z.optional(z.string())
const number = z.number()
const optionalNumber = z.optional(z.number())

/**
 * One line of a transcript, version 1. Readers ignore unknown fields, so that a later version can add fields. `at` is
 * ISO 8601 in UTC, `…_ms` is milliseconds. A line of a reply is the event that `--stream --json` prints, with its turn
 * and without `v`. The `end` has no `response`, which is the text of the `delta` lines.
 */
const transcriptLine = z.discriminatedUnion('type', [
  /** The first line. `base_url` is null for the embedded service, and `user` is missing if it is not known. */
  z.object({
    ...{ v: number, type: z.literal('session'), id: text, at: text, forked_from: optionalText },
    ...{ profile: z.nullable(text), base_url: z.nullable(text), user: optionalText },
  }),
  z.object({ type: z.literal('name'), name: text }),
  /** The options in force from here on. An omitted option is not set. */
  z.object({
    ...{ type: z.literal('options'), at: text, mode: z.enum(['context', 'completions']) },
    ...{ context_id: optionalText, model: optionalText, system: optionalText },
    ...{ temperature: optionalNumber, max_tokens: optionalNumber },
  }),
  /** The messages so far, replacing all earlier ones. `turns` has the turn of each, or null. */
  z.object({
    ...{ type: z.literal('conversation'), at: text, messages: z.array(message) },
    turns: z.optional(z.array(z.nullable(number))),
    /** Only the service has earlier messages. */
    lacks_beginning: z.optional(z.literal(true)),
  }),
  z.object({ type: z.literal('user'), turn: number, at: text, text }),
  z.object({
    ...{ type: z.literal('start'), turn: number, at: text },
    ...{ context_id: optionalText, id: optionalText, model: optionalText },
  }),
  /** What the model thinks before it replies. It is never sent to a model again. */
  z.object({ type: z.literal('reasoning'), turn: number, text }),
  z.object({ type: z.literal('delta'), turn: number, text }),
  /** The usage is passed on as the service sent it. */
  z.object({ type: z.literal('usage'), turn: number, usage: z.custom<Usage>(isRecord) }),
  z.object({
    ...{ type: z.literal('end'), turn: number, at: text },
    end: z.catch(z.optional(z.enum(replyEnds)), undefined),
    tools: z.catch(z.optional(z.array(text)), undefined),
    ...{ complete: z.boolean(), verified: z.boolean(), finish_reason: optionalText },
    ...{ id: optionalText, context_id: optionalText, reason: optionalText },
    interrupted: z.optional(z.literal(true)),
    error: z.optional(z.object({ code: text, message: text })),
    ...{ first_ms: optionalNumber, total_ms: optionalNumber },
    delivery: z.catch(z.optional(z.enum(deliveries)), undefined),
  }),
  /** What the history of the service shows later. */
  z.object({ type: z.literal('delivery'), turn: number, delivery: z.enum(deliveries) }),
  /** The whole reply, read from the history of the service later. */
  z.object({ type: z.literal('recovered'), turn: number, at: text, text }),
])

export type TranscriptLine = z.infer<typeof transcriptLine>

export type LineOf<T extends TranscriptLine['type']> = Extract<TranscriptLine, { type: T }>

/** Parses a line. Undefined for a truncated line or an unknown type. */
export function parseLine(text: string): TranscriptLine | undefined {
  return orElse(() => transcriptLine.safeParse(parseJson(text)).data, undefined)
}
