import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { errorBodyOf } from '../../api-error.ts'
import type { ChatEvent } from '../../domain/chat/chat-stream.ts'
import { toApiError } from '../../to-api-error.ts'

/** The result of a handler whose reply arrives in parts. */
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
 * ends the stream. Waits for the first part of the reply, so that an earlier failure can have its HTTP
 * status. If the model takes longer than `silence`, the stream begins without it.
 * @param onError called with a failure that can only be reported inside the stream
 * @param silence in ms, after which a comment is sent
 */
export async function openEventStream(
  { events }: EventStream,
  onError: (error: unknown) => void,
  silence = keepAlive,
): Promise<Readable> {
  const first = events.next()
  const answered = new AbortController()
  const timeUp = setTimeout(silence, undefined, { signal: answered.signal }).catch(() => {})
  await Promise.race([first, timeUp]).finally(() => answered.abort())
  return new EventBody(events, first, onError, silence)
}

/** The events as bytes, read no faster than the client reads them. */
class EventBody extends Readable {
  readonly #events: AsyncGenerator<ChatEvent>
  readonly #onError: (error: unknown) => void
  readonly #ping: NodeJS.Timeout
  #next: Promise<IteratorResult<ChatEvent>> | undefined
  #isWaiting = false

  constructor(
    events: AsyncGenerator<ChatEvent>,
    first: Promise<IteratorResult<ChatEvent>>,
    onError: (error: unknown) => void,
    silence: number,
  ) {
    super()
    this.#events = events
    this.#next = first
    this.#onError = onError
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
        hasRoom = this.push(frame(value.event, value.data))
        this.#ping.refresh()
        if (!hasRoom) return
      }
    } catch (error) {
      if (this.destroyed) return
      this.#onError(error)
      this.push(frame('error', errorBodyOf(toApiError(error))))
    } finally {
      this.#isWaiting = false
    }
    this.push(null)
  }
}

const frame = (event: string, data: unknown) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
