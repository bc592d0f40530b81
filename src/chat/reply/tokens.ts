import { isNumber } from '../../contract/notation/exact-json.ts'
import { groupDigits } from '../../view/format/quantities.ts'
import type { Conversation } from '../conversation.ts'

/**
 * The tokens of the last reply, and of the conversation with it, which is how much of the context of the model is in use:
 * `reply 30, conversation ~1,340 tokens`. Without a count of the service, an estimate with `~`.
 */
export function describeTokens(conversation: Conversation): string | undefined {
  const { messages, parameters, usage, lacksBeginning } = conversation
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage ?? {}
  const last = messages.at(-1)
  const whole = [parameters.system ?? '', ...messages.map(({ content }) => content)]
  const reply = count(completion) ?? (last?.role === 'assistant' ? estimate([last.content]) : undefined)
  const sum = isNumber(prompt) && isNumber(completion) ? Number(prompt) + Number(completion) : total
  // Without its beginning, its size is unknown.
  const all = count(sum) ?? (lacksBeginning || reply === undefined ? undefined : estimate(whole))
  const parts = [reply && `reply ${reply}`, all && `conversation ${all}`].filter(Boolean)
  return parts.length === 0 ? undefined : `${parts.join(', ')} tokens`
}

function count(tokens: unknown): string | undefined {
  return isNumber(tokens) ? groupDigits(Number(tokens)) : undefined
}

const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** Four characters are about one token, and so is each character of Chinese, Japanese, or Korean. */
function estimate(texts: readonly string[]): string {
  const sizes = texts.map((text) => text.length / 4 + (text.match(wide)?.length ?? 0) * 0.75)
  return `~${groupDigits(Math.ceil(sizes.reduce((sum, size) => sum + size, 0)))}`
}
