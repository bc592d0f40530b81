import { isRecord } from '../../../contract/notation/exact-json.ts'
import type { Message } from '../../../contract/resources/completion.ts'
import { type ApiError, invalidRequest } from '../../api-error.ts'
import type { ModelRequest, RelayedPart, RelayedRequest, ReplySource } from '../../replies/reply-source.ts'
import { createId } from '../identifiers.ts'
import type { RequestContext } from './chat.ts'

/**
 * The reply of the test program as OpenAI's API has it.
 * @throws ApiError `invalid_request` for what the program cannot do
 */
export async function* composeReply(
  replySource: ReplySource,
  request: RelayedRequest,
  { signal, clock }: Pick<RequestContext, 'signal' | 'clock'>,
): AsyncGenerator<RelayedPart> {
  const modelRequest = readRequest(request)
  const id = createId('chatcmpl')
  if (request.body['stream'] !== true) {
    const { usage, ...result } = await replySource.complete(modelRequest, signal)
    yield { data: JSON.stringify({ id, object: 'chat.completion', ...result, usage }), usage }
    return
  }
  const created = Math.floor(clock.now() / 1000)
  const head = { id, object: 'chat.completion.chunk', created, model: modelRequest.model }
  const chunkOf = (delta: object, finish_reason: string | null = null): RelayedPart => ({
    data: JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] }),
  })
  let role: string | undefined = 'assistant'
  for await (const part of replySource.stream(modelRequest, signal)) {
    if (part.kind !== 'finish') {
      yield chunkOf({ role, content: part.text })
      role = undefined
      continue
    }
    yield chunkOf({}, part.reason)
    const { usage } = part
    if (Object(request.body['stream_options']).include_usage !== true) continue
    yield { data: JSON.stringify({ ...head, choices: [], usage }), usage }
  }
}

/** The fields that require more than one text, with the values that do not. */
const needsModel: Record<string, (value: unknown) => boolean> = {
  n: (value) => Number(value) > 1,
  response_format: (value) => Object(value).type !== 'text',
  tool_choice: (value) => value !== 'auto' && value !== 'none',
}

function readRequest({ body, default_max_tokens }: RelayedRequest): ModelRequest {
  const { model, messages } = body
  for (const [field, isNeeded] of Object.entries(needsModel)) {
    const value = body[field] ?? undefined
    if (value !== undefined && isNeeded(value)) throw cannot(field, 'needs a model')
  }
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidRequest([{ path: 'messages', message: 'must be a list of at least one message' }])
  const limit = body['max_completion_tokens'] ?? body['max_tokens'] ?? default_max_tokens
  return { model, messages: messages.map(readMessage), max_tokens: limit as number | undefined }
}

function readMessage(message: unknown, index: number): Message {
  const { role, content } = Object(message)
  const path = `messages.${index}.content`
  return { role: role === 'user' || role === 'assistant' ? role : 'system', content: textOf(content, path) }
}

function textOf(content: unknown, path: string): string {
  if (typeof content === 'string') return content
  // The content of a message with tool calls.
  if (content === null || content === undefined) return ''
  if (!Array.isArray(content)) throw invalidRequest([{ path, message: 'must be a string or a list' }])
  return content
    .map((part, index) => {
      if (isRecord(part) && part['type'] === 'text' && typeof part['text'] === 'string') return part['text']
      throw cannot(`${path}.${index}`, `of type ${String(Object(part).type)} needs a model`)
    })
    .join('')
}

const cannot = (path: string, why: string): ApiError =>
  invalidRequest([
    { path, message: `${why}; this service has only its test program, which replies to text with text` },
  ])
