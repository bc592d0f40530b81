import { isRecord } from '../notation/exact-json.ts'

/**
 * Fields of a message that contain reasoning. The interface has none; servers for models that reason add
 * one of these, or several with the same text.
 */
export const reasoningFields = ['reasoning', 'reasoning_content', 'thinking'] as const

/** The reasoning in a message, or in a part of one. It is never a part of the reply. */
export function reasoningIn(message: unknown): string | undefined {
  if (!isRecord(message)) return undefined
  for (const field of reasoningFields) {
    const text = message[field]
    if (typeof text === 'string' && text !== '') return text
  }
  return undefined
}
