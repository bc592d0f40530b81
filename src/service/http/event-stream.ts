import { Readable } from 'node:stream'
import type { ChatEvent } from '../domain/chat-stream.ts'
import { errorBodyOf, toRefusal } from './error-answer.ts'

/** An answer that arrives in pieces. */
export class EventStream {
  readonly events: AsyncGenerator<ChatEvent>
  constructor(events: AsyncGenerator<ChatEvent>) {
    this.events = events
  }
}

/** How long, in ms, a stream may be silent before a comment keeps proxies and clients waiting. */
const keepAlive = 15_000

/**
 * Server-sent events (HTML Living Standard section 9.2): `delta`, then `done`; or `error`, which
 * ends the stream. Waits for the first piece, so that a failure before it still gets a status of
 * its own, unless the model takes longer than a client may wait for a first byte.
 * @param onError told of a failure that can only be reported inside the stream
 */
export async function openEventStream(
  { events }: EventStream,
  onError: (error: unknown) => void,
): Promise<Readable> {
  const first = events.next()
  await within(keepAlive, first)
  return Readable.from(writeEvents(events, first, onError))
}

async function* writeEvents(
  events: AsyncGenerator<ChatEvent>,
  first: Promise<IteratorResult<ChatEvent>>,
  onError: (error: unknown) => void,
): AsyncGenerator<string> {
  try {
    let next = first
    for (;;) {
      const result = await within(keepAlive, next)
      if (!result) {
        yield ': waiting for the model\n\n'
        continue
      }
      if (result.done) return
      yield frame(result.value.event, result.value.data)
      next = events.next()
    }
  } catch (error) {
    onError(error)
    yield frame('error', errorBodyOf(toRefusal(error)))
  } finally {
    // The client may be gone in the middle of an answer.
    await events.return(undefined)
  }
}

const frame = (event: string, data: unknown) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** What `work` comes to, or undefined when it takes longer than so many ms. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([work, timeUp])
  } finally {
    clearTimeout(timer)
  }
}
