/**
 * How a reply ended, the most decisive first (docs/exit-codes.md, "How a reply ends"). A client that stops a reply
 * has no end of it.
 */
export const replyEnds = [
  'interrupted',
  'truncated',
  'failed',
  'filtered',
  'refusal',
  'tool_calls',
  'empty',
  'length',
  'complete',
] as const

export type ReplyEnd = (typeof replyEnds)[number]

/** The ends that the embedded service names. Those before them are what a client has seen itself. */
export const ownEnds = replyEnds.slice(replyEnds.indexOf('filtered'))

/** The finish reasons of model servers, in lower case. */
const reasons: Partial<Record<ReplyEnd, string>> = {
  complete:
    'stop end_turn eos eos_token stop_sequence stop_sequence_hit end_of_text complete completed end done finish finished',
  length:
    'length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length model_length token_limit context_length model_context_window_exceeded',
  filtered:
    'content_filter content_filtered safety recitation blocklist prohibited_content spii language image_safety image_recitation image_prohibited_content sensitive blocked guardrail_intervened error_toxic',
  refusal: 'refusal',
  tool_calls:
    'tool_calls tool_call tool_use function_call function_calls malformed_function_call unexpected_tool_call function_call_filter',
  failed: 'error failed network_error insufficient_system_resource abort aborted',
}

const ends = new Map(
  Object.entries(reasons).flatMap(([end, names]) => names.split(' ').map((name) => [name, end as ReplyEnd])),
)

/** What a finish reason means. Undefined for one that is unknown, after which a reply counts as complete. */
export function endOfReason(reason: string): ReplyEnd | undefined {
  // Gemini adds a word: `content_filter: RECITATION`.
  const [name = ''] = reason.toLowerCase().split(':')
  return ends.get(name.trim())
}

/** The most decisive of several signs of an end. */
export function decisiveEnd(signs: ReadonlySet<ReplyEnd>): ReplyEnd {
  return replyEnds.find((end) => signs.has(end)) ?? 'complete'
}

/** The end of a reply that arrived completely, with a reason from `reasonFor`. */
export function endOfReply(reason: string, text: string): ReplyEnd {
  const signs = [endOfReason(reason), text.trim() === '' ? 'empty' : undefined] as const
  return decisiveEnd(new Set(signs.filter((sign) => sign !== undefined)))
}

/** A finish reason that means this end: the given one if it does, or else one that does. */
export function reasonFor(end: ReplyEnd | undefined, reason = 'stop'): string {
  const means = endOfReason(reason)
  return end === 'empty' || end === means || (end === 'complete' && !means)
    ? reason
    : ((end && reasons[end])?.split(' ')[0] ?? reason)
}
