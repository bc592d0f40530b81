import { endpoints } from '../../contract/endpoints.ts'
import { Failure } from '../../contract/failure.ts'
import type { SendResponse } from '../../contract/resources/conversation.ts'
import type { StreamEnd, StreamEvent } from '../../contract/resources/stream-event.ts'
import { Expired, type OpenResponse } from '../../system/network/transport.ts'
import { ResponseBytes } from '../attempt.ts'
import { longerTimeout } from '../network/network-failure.ts'
import { readResponse } from '../response/read-response.ts'
import { type ApiResponse, requestIdOf } from '../response/response.ts'
import { openReplyStream, type StreamSource } from './reply-stream.ts'

/**
 * Reads a streamed reply to its end, and returns the body that the service would have sent without
 * streaming (docs/interface.md, "Send-message request and response"). Also reads the body of a service
 * that does not stream.
 * @param onEvent called with each event as it arrives, because the end may never arrive
 * @param maxBodyMiB default: 256
 * @throws Failure as `readResponse`, or the reason why the reply is incomplete
 */
export async function collectReply(
  source: StreamSource,
  { onEvent, maxBodyMiB }: { onEvent(event: StreamEvent): void; maxBodyMiB: number | undefined },
): Promise<ApiResponse<SendResponse>> {
  const { finalResponse } = source
  const { status, headers, request, rest } = finalResponse
  const kept = new ResponseBytes(status, request, maxBodyMiB)
  kept.add(finalResponse.bytes)
  const stream = openReplyStream({
    ...source,
    finalResponse: { ...finalResponse, rest: rest && keeping(kept, rest) },
  })
  let end: StreamEnd | undefined
  for await (const event of stream) {
    onEvent(event)
    if (event.type === 'end') end = event
  }
  if (!end) throw new Error('the stream had no end event')

  const kind = end.failure?.kind
  if ((end.isWholeBody && kind !== 'truncated') || kind === 'invalid_response') {
    const received = { status, headers, bytes: kept.join(), request }
    return readResponse(endpoints.sendMessage, received) as ApiResponse<SendResponse>
  }
  if (end.failure) {
    // The service has the message, and may have stored it.
    const { kind, message, cause } = end.failure
    const advice = cause instanceof Expired ? [longerTimeout(cause)] : []
    throw new Failure(kind, message, {
      ...end.failure,
      cause,
      isOutcomeUnknown: true,
      hint: undefined,
      advice,
    })
  }
  return { body: bodyOf(end), status, headers, faults: [], requestId: requestIdOf(headers) }
}

function keeping(kept: ResponseBytes, response: OpenResponse): OpenResponse {
  return {
    ...response,
    cancel: () => response.cancel(),
    read: async () => {
      const chunk = await response.read()
      if (chunk) kept.add(chunk)
      return chunk
    },
  }
}

function bodyOf(reply: StreamEnd): SendResponse {
  const { id, text: response, contextId: context_id, createdAt: created_at, end, tools, model, usage } = reply
  const fields = {
    id,
    response,
    context_id,
    created_at,
    finish_reason: reply.finishReason,
    end,
    tools,
    model,
    usage,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
