import * as z from 'zod/mini'
import { answer, request } from './shapes.ts'

const roles = ['system', 'user', 'assistant'] as const

/** One turn of a conversation; unlike other requests, a message without both fields means nothing. */
export const message = z.strictObject({ role: z.enum(roles), content: z.string() })
export type Message = z.infer<typeof message>

/** interface.md, "Chat completion request". The document gives it no `stream` field. */
export const completionRequest = request(() => ({
  model: z.string(),
  messages: z.array(message),
  temperature: z.number(),
  max_tokens: z.int(),
}))
export type CompletionRequest = z.infer<typeof completionRequest>

const usage = answer(() => ({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
}))
export type Usage = z.infer<typeof usage>

const choice = answer(() => ({
  message: answer(() => ({ role: z.string(), content: z.string() })),
  finish_reason: z.string(),
  index: z.int(),
}))

/** interface.md, "Chat completion response". `created` is a Unix time in seconds. */
export const completion = answer(() => ({
  id: z.string(),
  object: z.string(),
  created: z.int(),
  model: z.string(),
  usage,
  choices: z.array(choice),
}))
export type Completion = z.infer<typeof completion>
