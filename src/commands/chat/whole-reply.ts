import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { Failure } from '../../contract/failure.ts'
import { endOfReason } from '../../contract/reply/reply-end.ts'
import { describeReplyEnd, isAtLimit, type KnownEnd, unknownReasonOf } from '../../view/reply-end.ts'

interface EndedReply {
  end: KnownEnd
  hasReasoning: boolean
  /** The token limit of this command or conversation. */
  maxTokens: number | undefined
  /** Whether `--continue` continues the conversation. */
  isKept: boolean
}

/**
 * Why a reply is not whole, for the exit code. Says on stderr what is only worth a notice: that a reply reached the
 * limit that the user set, or has an unknown finish reason.
 * @returns undefined for a whole reply
 */
export function checkWhole(context: Context, reply: EndedReply): Failure | undefined {
  const { end, hasReasoning, maxTokens, isKept } = reply
  const { output } = context
  const unknown = unknownReasonOf(end)
  if (unknown !== undefined) output.notice(`The reply ended with an unknown finish reason: ${unknown}`)
  const words = describeReplyEnd(end, hasReasoning)
  if (words === undefined) return undefined
  const isOwnLimit = isAtLimit(end, maxTokens)
  const next = commandFor(context, 'chat', 'send', '--continue', 'Continue')
  const more = end.end === 'length' && isKept ? `Continue it with: ${next}` : ''
  if (end.end === 'length' && isOwnLimit) {
    output.notice(`${words}. ${more}`.trim())
    return undefined
  }
  return new Failure('not_whole', words, { code: end.end, hint: more || hintFor(end, isOwnLimit, maxTokens) })
}

function hintFor({ end, finishReason = '' }: KnownEnd, isOwnLimit: boolean, maxTokens?: number): string {
  const model = 'choose another model with --model.'
  if (end === 'tool_calls') return `Ask for a reply without tools, or ${model}`
  if (end !== 'length' && endOfReason(finishReason) !== 'length')
    return `${end === 'empty' ? 'Send the message again' : 'Change the message'}, or ${model}`
  const flag = maxTokens === undefined ? ', or set --max-tokens' : ''
  const limit = isOwnLimit ? '--max-tokens' : `limits.max_tokens in the settings of the service${flag}`
  return end === 'length' ? `Raise ${limit}.` : `It reached the token limit: raise ${limit}.`
}
