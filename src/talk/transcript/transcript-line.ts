import * as z from 'zod/mini'
import { message, type Usage } from '../../contract/completion.ts'
import { isRecord, parseJson } from '../../contract/exact-json.ts'

const optionalText = z.optional(z.string())

/** Where the reader finds a usage, it is handed on as it came. */
const usage = z.custom<Usage>(isRecord)

/**
 * One line of a transcript, version 1. Unknown fields are dropped when it is read, so that a later
 * version may add some. `at` is ISO 8601 in UTC, `…_ms` milliseconds.
 */
const transcriptLine = z.discriminatedUnion('type', [
  /** First, and once. `base_url` null is the embedded service. */
  z.object({
    v: z.number(),
    type: z.literal('session'),
    id: z.string(),
    at: z.string(),
    profile: z.nullable(z.string()),
    base_url: z.nullable(z.string()),
  }),
  z.object({ type: z.literal('name'), name: z.string() }),
  /** All that is in force from here; what is left out is not. */
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
  /** What completions go on from, in place of all that came before. */
  z.object({
    type: z.literal('conversation'),
    at: z.string(),
    messages: z.array(message),
    /** Only the service has what came before. */
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
  z.object({ type: z.literal('delta'), turn: z.number(), text: z.string() }),
  z.object({ type: z.literal('usage'), turn: z.number(), usage }),
  /** Without the text: the deltas are the text. */
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
  /** The answer from its beginning, as the service's history had it later. */
  z.object({ type: z.literal('recovered'), turn: z.number(), at: z.string(), text: z.string() }),
])

export type TranscriptLine = z.infer<typeof transcriptLine>

export type LineOf<T extends TranscriptLine['type']> = Extract<TranscriptLine, { type: T }>

/** The line that a text holds; undefined for a torn one and for what this version does not know. */
export function parseLine(text: string): TranscriptLine | undefined {
  try {
    return transcriptLine.safeParse(parseJson(text)).data
  } catch {
    return undefined
  }
}

/**
 * Bytes after which the name and the options are written again, before a question: so they are
 * found near the end of a long transcript without reading the whole of it.
 */
export const repeatAfter = 32 * 1024
