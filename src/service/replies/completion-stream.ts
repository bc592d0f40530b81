import { afterColon } from '../../contract/failure.ts'
import { invalidUtf8 } from '../../contract/notation/text.ts'
import { Assembly } from '../../contract/reply/assembly.ts'
import { reasonFor } from '../../contract/reply/reply-end.ts'
import type { StreamEnd, StreamEvent } from '../../contract/resources/stream-event.ts'
import { readStart } from '../../system/network/fetch-text.ts'
import type { OpenResponse } from '../../system/network/transport.ts'
import { ApiError } from '../api-error.ts'
import { invalidResponse, invalidText, messageInText, reportedError } from './model-server-error.ts'
import { parseUsage } from './parse-response.ts'
import type { CompletionBody, RelayedPart, ReplyPart, TextPart } from './reply-source.ts'

/** Maximum text of one stream, reasoning included, and of one event, in characters. */
const maxText = 4 * 1024 * 1024

/** How long, in ms, a server may send nothing between a `finish_reason` and `[DONE]`, or the end. */
const endTimeout = 5_000

type ResponseBody = Pick<OpenResponse, 'headers' | 'read' | 'cancel'>

/** A stream of OpenAI's API: its data is JSON. */
const openAssembly = (
  { headers }: ResponseBody,
  choices: number,
  onValue?: (value: unknown, text: string) => void,
) =>
  new Assembly({
    contentType: headers['content-type'] ?? '',
    events: { isJson: true, maxEvent: maxText, parse: JSON.parse },
    choices,
    ...(onValue && { onValue }),
  })

/** The parts of an OpenAI stream. @param secrets see `ModelServer`. @throws as `readParts` */
export async function* readReply(
  body: ResponseBody,
  asked: string,
  secrets: readonly string[],
): AsyncGenerator<ReplyPart> {
  const reply = openAssembly(body, 1)
  let length = 0
  function* take(events: StreamEvent[]): Generator<TextPart> {
    for (const { type: kind, text } of joinText(events)) {
      length += text.length
      if (length > maxText) throw invalidResponse('sent more than 4 Mi characters in one reply')
      yield { kind, text, model: reply.model ?? asked }
    }
  }
  const { end, finishReason, tools, usage } = yield* readParts(body, reply, take, asked, secrets)
  const [reason, model] = [reasonFor(end, finishReason), reply.model ?? asked]
  yield { kind: 'finish', reason, ...(tools && { tools }), model, usage: parseUsage(usage) }
}

/**
 * The data of each event of an OpenAI stream, without `[DONE]`.
 * @param secrets see `ModelServer`
 * @throws as `readParts`
 */
export async function* readRelayed(
  body: ResponseBody,
  { model, n }: CompletionBody,
  secrets: readonly string[],
): AsyncGenerator<RelayedPart> {
  const parts: RelayedPart[] = []
  const reply = openAssembly(body, Math.max(1, Number(n ?? 1)), (value, data) =>
    parts.push({ data, usage: parseUsage(Object(value).usage) }),
  )
  yield* readParts(body, reply, () => parts.splice(0), model, secrets)
}

/**
 * After a `finish_reason`, the end is waited for, because some servers send one in each event. If the caller stops
 * early, the body is canceled.
 * @throws ApiError `model_server_error` if the stream is truncated or contains an error; Interrupted
 */
async function* readParts<Part>(
  body: ResponseBody,
  reply: Assembly,
  take: (events: StreamEvent[]) => Iterable<Part>,
  model: string,
  secrets: readonly string[],
): AsyncGenerator<Part, StreamEnd> {
  let hasBegun = false
  let hasWaited = false
  const cancel = () => {
    hasWaited = true
    body.cancel()
  }
  try {
    for (let events: StreamEvent[] | undefined = []; events && reply.ended !== 'now'; ) {
      // The time that the caller takes for the parts does not count.
      const timer = reply.ended === 'soon' ? setTimeout(cancel, endTimeout) : undefined
      events = await readEvents(body, reply).finally(() => clearTimeout(timer))
      for (const part of take(events ?? [])) {
        hasBegun = true
        yield part
      }
      if (events && reply.isUnreadable) throw invalidResponse('sent an event that is not JSON')
    }
  } catch (error) {
    if (!(hasWaited || reply.isOver) || error instanceof ApiError) throw error
  } finally {
    if (reply.ended === 'now' && !reply.hasFailed) drain(body)
    else body.cancel()
  }
  const rest = reply.end()
  // Before the first part, an error can have a status.
  const refusal = hasBegun ? undefined : reportedError(reply.failedValue, model, secrets)
  if (refusal) throw refusal
  yield* take(rest)
  const end = rest.at(-1) as StreamEnd
  if (end.failure || reply.ended === 'no') throw failureOf(end, reply.ended !== 'no', hasBegun, secrets)
  return end
}

/** The events of the next bytes, or of those after bytes that only keep the connection open. */
async function readEvents(body: ResponseBody, reply: Assembly): Promise<StreamEvent[] | undefined> {
  for (let bytes = await body.read(); bytes; bytes = await body.read()) {
    const events = reply.push(bytes)
    if (events.length > 0 || reply.isHeard || reply.isUnreadable) return events
  }
  return undefined
}

/** The error response for a stream that is not complete. */
function failureOf(
  { failure }: StreamEnd,
  isEnded: boolean,
  hasBegun: boolean,
  secrets: readonly string[],
): ApiError {
  const { kind, message } = failure ?? {}
  if (message === invalidUtf8) return invalidText()
  if (message === undefined || kind === 'invalid_response' || !isEnded)
    return invalidResponse('ended the reply before it was complete')
  const words = kind === 'truncated' ? afterColon(message) : messageInText(message, secrets)
  const what = kind === 'truncated' || hasBegun ? 'truncated the response' : 'failed'
  return invalidResponse(`${what}: ${words ?? 'no reason given'}`)
}

/** A body that is read to its end frees its connection for the next request. */
function drain(body: ResponseBody): void {
  const timer = setTimeout(() => body.cancel(), endTimeout)
  const clear = () => clearTimeout(timer)
  readStart(body, maxText).then(clear, clear)
}

type TextEvent = Extract<StreamEvent, { type: 'reasoning' | 'delta' }>

/** Text of one kind that arrives together is one part. */
function joinText(events: readonly StreamEvent[]): TextEvent[] {
  const joined: TextEvent[] = []
  for (const event of events) {
    if (event.type !== 'reasoning' && event.type !== 'delta') continue
    const last = joined.at(-1)
    if (last?.type === event.type) last.text += event.text
    else joined.push({ ...event })
  }
  return joined
}
