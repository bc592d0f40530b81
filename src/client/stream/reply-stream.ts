import { Assembly, type Interruption } from '../../contract/reply/assembly.ts'
import type { StreamEvent, StreamFormat } from '../../contract/resources/stream-event.ts'
import { describeDuration, startTimer } from '../../system/clock.ts'
import { Expired, Interrupted, type OpenResponse } from '../../system/network/transport.ts'
import type { FinalResponse } from '../deliver.ts'
import { describeInterruption } from '../network/network-failure.ts'
import { concealFailure, type Redact } from '../redaction.ts'

/** A streamed reply. It can be iterated once; leaving the loop early closes the connection. */
export type ReplyStream = AsyncIterable<StreamEvent> & {
  /** The HTTP status. */
  status: number
  /** Names are lower case. */
  headers: Record<string, string>
}

/** The accepted formats, the most explicit first. */
export const streamAccept = 'text/event-stream, application/x-ndjson;q=.9, application/json;q=.8, */*;q=.1'

/** Milliseconds without a byte after a finish reason, which some services send in each frame. */
const waitAfterFinish = 5000
/** Milliseconds to wait for the end of the body after the reply, so that the connection can be reused. */
const waitForBodyEnd = 250

/** @internal */
export interface StreamSource {
  finalResponse: FinalResponse
  /** Format of the stream (default: detected). */
  format?: StreamFormat | undefined
  /** Maximum milliseconds between two pieces. */
  idleTimeout: number
  redact: Redact
}

/**
 * Turns a 2xx response into events, as fast as the caller reads them. The event `end` reports any later
 * failure; only an abort throws, with the reason of the signal.
 * @internal
 */
export function openReplyStream(source: StreamSource): ReplyStream {
  const { status, headers } = source.finalResponse
  const events = readEvents(source)
  return { status, headers, [Symbol.asyncIterator]: () => events }
}

async function* readEvents({
  finalResponse,
  format,
  idleTimeout,
  redact,
}: StreamSource): AsyncGenerator<StreamEvent, void> {
  const { status, headers, request, rest: response } = finalResponse
  const assembly = new Assembly({ contentType: headers['content-type'] ?? '', format, status, request })
  const end = (interruption?: Interruption) =>
    assembly.end(interruption).map((event) => conceal(event, redact))
  try {
    yield* assembly.push(finalResponse.bytes)
    while (response && assembly.ended !== 'now') {
      const ms = assembly.ended === 'soon' ? waitAfterFinish : idleTimeout
      const events = await readWithin(response, ms, assembly)
      if (!events) break
      yield* events
    }
    yield* end()
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    // After a finish reason, the end was only waited for.
    const hasWaited = assembly.ended === 'soon' && error.cause instanceof Expired
    yield* end(hasWaited ? undefined : toInterruption(error))
  } finally {
    if (response) await finishBody(response, assembly.ended === 'now')
  }
}

function toInterruption(interrupted: Interrupted): Interruption {
  const { cause } = interrupted
  const reason =
    cause instanceof Expired
      ? `The response was truncated: no data for ${describeDuration(cause.ms)}`
      : `The response was truncated: ${describeInterruption(interrupted)}`
  return { reason, cause }
}

/**
 * The next events. Rejects if none arrive in time; pauses of the reader do not count. A service that keeps
 * the connection open with comments does not extend the time of its model.
 */
function readWithin(
  response: OpenResponse,
  ms: number,
  assembly: Assembly,
): Promise<StreamEvent[] | undefined> {
  const read = async (): Promise<StreamEvent[] | undefined> => {
    for (let bytes = await response.read(); bytes; bytes = await response.read()) {
      const events = assembly.push(bytes)
      if (events.length > 0 || assembly.isHeard) return events
    }
    return undefined
  }
  return new Promise((resolve, reject) => {
    const stopTimer = startTimer(ms, () => {
      reject(new Interrupted('body', new Expired(ms)))
      response.cancel()
    })
    read().then(resolve, reject).finally(stopTimer)
  })
}

/** Reads the body to its end if the reply is complete, and closes the connection otherwise. */
async function finishBody(response: OpenResponse, over: boolean): Promise<void> {
  if (!over) {
    response.cancel()
    return
  }
  const timer = setTimeout(() => response.cancel(), waitForBodyEnd)
  timer.unref()
  // In the background; its outcome does not matter.
  void (async () => {
    try {
      while (await response.read());
    } catch {
    } finally {
      clearTimeout(timer)
    }
  })()
}

function conceal(event: StreamEvent, redact: Redact): StreamEvent {
  if (event.type !== 'end' || !event.failure) return event
  const failure = concealFailure(event.failure, redact)
  return { ...event, reason: failure.message, failure }
}
