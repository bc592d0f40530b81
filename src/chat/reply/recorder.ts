import { Failure } from '../../contract/failure.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { Conversation } from '../conversation.ts'
import type { TranscriptLine } from '../transcript/transcript-line.ts'
import type { TranscriptWriter } from '../transcript/transcript-writer.ts'

/**
 * Writes the transcript of a session. A full disk does not end the session: the failure is shown
 * once, and nothing more is recorded.
 */
export class Recorder {
  /** The number of the last turn. */
  turns: number
  readonly #writer: TranscriptWriter | undefined
  readonly #clock: Clock
  readonly #onLost: (failure: Failure) => void
  #lost = false

  /** @param writer undefined if nothing is recorded */
  constructor(
    writer: TranscriptWriter | undefined,
    turns: number,
    clock: Clock,
    onLost: (failure: Failure) => void,
  ) {
    this.#writer = writer
    this.turns = turns
    this.#clock = clock
    this.#onLost = onLost
  }

  /** ID of the session. Undefined if nothing is recorded. */
  get id(): string | undefined {
    return this.#writer?.id
  }

  /** Undefined if the last part is lost. */
  get path(): string | undefined {
    return this.#lost ? undefined : this.#writer?.path
  }

  get now(): string {
    return isoNow(this.#clock)
  }

  /** @param isFlushed whether the lines so far are flushed to disk */
  record(line: TranscriptLine, isFlushed = false): void {
    if (this.#lost) return
    try {
      this.#writer?.append(line)
      if (isFlushed) this.#writer?.sync()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.#lost = true
      this.#onLost(error)
    }
  }

  /** Records a reply as the history of the service has it (default: the last one). */
  recovered(text: string, turn = this.turns): void {
    this.record({ type: 'recovered', turn, at: this.now, text }, true)
  }

  /** Records the options in force from here on. */
  options(conversation: Conversation): void {
    this.record(conversation.optionsLine(this.now))
  }

  /** Records all messages, when they are no longer the sum of the turns so far. */
  conversation(conversation: Conversation): void {
    this.record(conversation.conversationLine(this.now))
  }

  close(): void {
    this.#writer?.close()
  }
}
