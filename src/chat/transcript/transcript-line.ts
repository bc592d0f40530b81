import * as z from 'zod/mini'
import { isRecord, parseJson } from '../../contract/notation/exact-json.ts'
import { message, type Usage } from '../../contract/resources/completion.ts'

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
  try {
    return transcriptLine.safeParse(parseJson(text)).data
  } catch {
    return undefined
  }
}
