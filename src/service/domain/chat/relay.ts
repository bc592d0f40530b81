import type { Fault } from '../../../contract/faults.ts'
import { isNumber, isRecord } from '../../../contract/notation/exact-json.ts'
import { invalidRequest } from '../../api-error.ts'
import type { RelayedPart, RelayedRequest, ReplySource } from '../../replies/reply-source.ts'
import type { EffectiveSettings } from '../settings.ts'
import { limitTokens, type RequestContext, requireChat } from './chat.ts'
import { composeReply } from './compose-reply.ts'

/** The fields that limit the tokens of a reply. `n_predict` is that of llama.cpp, where it precedes `max_tokens`. */
const tokenFields = ['max_tokens', 'max_completion_tokens', 'n_predict']

/** The fields that every request of an OpenAI client may have. */
const usualFields = ['model', 'messages', 'stream']

/**
 * The request of an OpenAI client as it is passed on: with a model, and at most the tokens that the settings allow. A
 * limit that is null would be none. Everything else is unchanged.
 * @param allowed the other fields that it may have (default: all)
 * @throws ApiError `feature_disabled`, `invalid_request`; as `ReplySource.defaultModel`
 */
export async function prepareRelay(
  replySource: ReplySource,
  settings: EffectiveSettings,
  body: unknown,
  signal: AbortSignal,
  allowed?: readonly string[],
): Promise<RelayedRequest> {
  requireChat(settings)
  if (!isRecord(body)) throw invalidRequest([{ path: '', message: 'must be a JSON object' }])
  const faults: Fault[] = []
  const { model, stream } = body
  if (typeof (model ?? '') !== 'string') faults.push({ path: 'model', message: 'must be a string' })
  if (typeof (stream ?? false) !== 'boolean') faults.push({ path: 'stream', message: 'must be a boolean' })
  const limits: Record<string, number | undefined> = {}
  for (const field of Object.keys(body)) {
    if (allowed && ![...usualFields, ...allowed].includes(field))
      faults.push({ path: field, message: 'is not allowed by this service' })
    // Servers in Go ignore the case of a name. Both conversions find characters such as ſ, too.
    if (!tokenFields.includes(field.toUpperCase().toLowerCase())) continue
    const value = body[field] ?? undefined
    const limit = isNumber(value) ? Number(value) : undefined
    if (value !== undefined && !(Number.isInteger(limit) && Number(limit) > 0))
      faults.push({ path: field, message: 'must be an integer, at least 1' })
    limits[field] = limit && limitTokens(settings, limit).max_tokens
  }
  if (faults.length > 0) throw invalidRequest(faults)
  // Only llama.cpp knows `n_predict`, and not every server ignores the case.
  const { max_completion_tokens, max_tokens = max_completion_tokens } = limits
  const chosen = typeof model === 'string' && model !== '' ? model : await replySource.defaultModel(signal)
  return { ...limitTokens(settings, max_tokens), body: { ...body, ...limits, model: chosen } }
}

/** @throws ApiError as `ReplySource.relay` */
export function relay(
  replySource: ReplySource,
  request: RelayedRequest,
  context: Pick<RequestContext, 'signal' | 'clock'>,
): AsyncIterable<RelayedPart> {
  return replySource.relay?.(request, context.signal) ?? composeReply(replySource, request, context)
}
