import type { Exchange } from '../exchange.ts'
import { describeTokens } from './tokens.ts'

/**
 * The line after a reply: model, tokens, time of the reasoning, time to the first and the last token, and where the
 * conversation is stored, but its ID only once.
 */
export function describeExchange(exchange: Exchange): string {
  const { conversation, turn, thoughtMs = 0, end } = exchange
  const parts = [
    conversation.replyModel ?? conversation.model,
    describeTokens(conversation),
    // If the reasoning and the reply arrive together, the time is unknown.
    thoughtMs < 100 ? undefined : `thought ${seconds(thoughtMs)}`,
    turn?.firstMs === undefined ? undefined : `first ${seconds(turn.firstMs)}`,
    `total ${seconds(turn?.totalMs ?? 0)}`,
    whereaboutsOf(exchange),
    end?.complete && !end.verified ? 'the service did not mark the end' : undefined,
  ]
  // A narrow terminal breaks the line only between short parts.
  const known = parts.flatMap((part) => part || [])
  return known.map((part) => (part.length > 36 ? part : part.replaceAll(' ', '\u00a0'))).join('\u00a0· ')
}

function whereaboutsOf({ isCompletion, newContextId, end }: Exchange): string | undefined {
  if (isCompletion) return `stored on this machine${end?.isWholeBody ? ', not streamed' : ''}`
  return newContextId === undefined ? undefined : `conversation ${newContextId}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
}
