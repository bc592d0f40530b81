import { Failure } from '../../contract/failure.ts'
import type { StreamEvent, StreamFormat } from '../../contract/stream-event.ts'
import { describeDuration, startTimer } from '../../system/clock.ts'
import type { Delivered } from '../deliver.ts'
import { describeInterruption } from '../network-failure.ts'
import { Expired, Interrupted, type OpenResponse } from '../open-response.ts'
import { concealFailure, type Redact } from '../redaction.ts'
import { codingOf } from '../response.ts'
import { Assembly } from './assembly.ts'

/** A streamed reply. It can be iterated once; leaving the loop early closes the connection. */
export type ReplyStream = AsyncIterable<StreamEvent> & {
  /** The HTTP status. */
  status: number
  /** Names are lower case. */
  headers: Record<string, string>
}

/** What we ask for, the most telling form first. */
export const streamAccept = 'text/event-stream, application/x-ndjson;q=.9, application/json;q=.8, */*;q=.1'

/** Milliseconds that we wait for what may follow a finish reason, such as the usage. */
const afterword = 1000
/** Milliseconds for the end of a body whose reply is over, so that the connection can serve again. */
const farewell = 250

/** @internal */
export interface StreamSource {
  delivered: Delivered
  /** Format of the stream (default: detected). */
  format?: StreamFormat | undefined
  /** Milliseconds between two pieces. */
  idleTimeout: number
  redact: Redact
}

/**
 * Turns a 2xx into events, at the speed at which they are asked for. What goes wrong from here on
 * is told by `end`; an abort alone throws, the signal's reason.
 *
 * @throws Failure `invalid_response` for a content coding, since we ask for none
 * @internal
 */
export function openReplyStream(source: StreamSource): ReplyStream {
  const { status, headers, request, rest } = source.delivered
  const coding = codingOf(headers)
  if (coding !== undefined) {
    rest?.cancel()
    throw new Failure('invalid_response', `The response has the unsupported content coding ${coding}`, {
      status,
      request,
    })
  }
  const events = readEvents(source)
  return { status, headers, [Symbol.asyncIterator]: () => events }
}

async function* readEvents({
  delivered,
  format,
  idleTimeout,
  redact,
}: StreamSource): AsyncGenerator<StreamEvent, void> {
  const { status, headers, request, rest: response } = delivered
  const assembly = new Assembly({ contentType: headers['content-type'] ?? '', format, status, request })
  const end = (cut?: Cut) => assembly.end(cut).map((event) => conceal(event, redact))
  try {
    yield* assembly.push(delivered.bytes)
    while (response && assembly.ended !== 'now') {
      const bytes = await readWithin(response, assembly.ended === 'soon' ? afterword : idleTimeout)
      if (!bytes) break
      yield* assembly.push(bytes)
    }
    yield* end()
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    yield* end(describeCut(error))
  } finally {
    if (response) await takeLeave(response, assembly.ended === 'now')
  }
}

interface Cut {
  reason: string
  cause?: unknown
}

function describeCut(interrupted: Interrupted): Cut {
  const { cause } = interrupted
  const reason =
    cause instanceof Expired
      ? `The response was truncated: no data for ${describeDuration(cause.ms)}`
      : `The response was truncated: ${describeInterruption(interrupted)}`
  return { reason, cause }
}

/** The next bytes, or an interruption when none come in time. Only waiting counts, not the reader's pauses. */
function readWithin(response: OpenResponse, ms: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const stopTimer = startTimer(ms, () => {
      reject(new Interrupted('body', new Expired(ms)))
      response.cancel()
    })
    response.read().then(resolve, reject).finally(stopTimer)
  })
}

/** A body that is as good as over is read to its end; any other is cut off. */
async function takeLeave(response: OpenResponse, over: boolean): Promise<void> {
  if (!over) {
    response.cancel()
    return
  }
  const timer = setTimeout(() => response.cancel(), farewell)
  timer.unref()
  // Nobody waits for this, and how it ends is of no interest.
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
