import { Readable } from 'node:stream'
import { type ApiError, errorBodyOf } from '../../api-error.ts'
import type { ChatEvent } from '../../domain/chat/chat-stream.ts'
import type { RelayedPart } from '../../replies/reply-source.ts'
import { toApiError } from '../../to-api-error.ts'
import { openAiErrorBodyOf } from './openai-error.ts'

/** The result of a handler whose reply arrives in parts. */
export class EventStream {
  readonly events: StreamEvents
  readonly errorFrame: (apiError: ApiError) => string
  constructor(
    events: StreamEvents,
    errorFrame = (apiError: ApiError): string => frame('error', errorBodyOf(apiError)),
  ) {
    this.events = events
    this.errorFrame = errorFrame
  }
}

/** A text is a frame, with its blank line. */
type StreamEvents = AsyncGenerator<ChatEvent | string>

/**
 * A stream as OpenAI's API has it: events without names, and `[DONE]` after a complete reply. An error is an event with
 * `error`, after which `[DONE]` is missing. The SDKs of OpenAI throw it; a stream that only ends is complete for them.
 */
export function openAiEventStream(parts: AsyncIterable<RelayedPart>): EventStream {
  const frameOf = (data: string) => `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
  async function* frames() {
    for await (const { data } of parts) yield frameOf(data)
    yield frameOf('[DONE]')
  }
  return new EventStream(frames(), (apiError) => frameOf(JSON.stringify(openAiErrorBodyOf(apiError))))
}

/** How long, in ms, a stream may be silent before a comment keeps proxies and clients waiting. */
const keepAlive = 15_000

/**
 * Server-sent events (HTML Living Standard section 9.2): `delta`, then `done`; or `error`, which
 * ends the stream. Waits for the first part of the reply, so that an earlier failure can have its HTTP
 * status. If the model takes longer than `silence`, the stream begins without it.
 * @param onError called with a failure that can only be reported inside the stream
 * @param silence in ms, after which a comment is sent
 */
export async function openEventStream(
  { events, errorFrame }: EventStream,
  onError: (error: unknown) => void,
  silence = keepAlive,
): Promise<Readable> {
  const first = events.next()
  const { promise: timeUp, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, silence)
  await Promise.race([first, timeUp]).finally(() => clearTimeout(timer))
  const report = (error: unknown) => {
    onError(error)
    return errorFrame(toApiError(error))
  }
  return new EventBody(events, first, report, silence)
}

/** The events as bytes, read no faster than the client reads them. */
class EventBody extends Readable {
  readonly #events: StreamEvents
  readonly #report: (error: unknown) => string
  readonly #ping: NodeJS.Timeout
  #next: ReturnType<StreamEvents['next']> | undefined
  #isWaiting = false

  /** @param report returns the last event, for a failure */
  constructor(
    events: StreamEvents,
    first: ReturnType<StreamEvents['next']>,
    report: (error: unknown) => string,
    silence: number,
  ) {
    super()
    this.#events = events
    this.#next = first
    this.#report = report
    this.#ping = setInterval(() => {
      if (this.#isWaiting) this.push(': waiting for the model\n\n')
    }, silence)
  }

  override _read(): void {
    if (!this.#isWaiting) void this.#fill()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#ping)
    // Stops the model if the client has disconnected during the reply.
    this.#events.return(undefined).then(
      () => done(error),
      () => done(error),
    )
  }

  async #fill(): Promise<void> {
    this.#isWaiting = true
    try {
      for (let hasRoom = true; hasRoom; ) {
        const { done, value } = await (this.#next ?? this.#events.next())
        this.#next = undefined
        if (this.destroyed) return
        if (done) break
        hasRoom = this.push(typeof value === 'string' ? value : frame(value.event, value.data))
        this.#ping.refresh()
        if (!hasRoom) return
      }
    } catch (error) {
      if (this.destroyed) return
      this.push(this.#report(error))
    } finally {
      this.#isWaiting = false
    }
    this.push(null)
  }
}

const frame = (event: string, data: unknown) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
