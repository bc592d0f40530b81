import type { Client } from '../../client/client.ts'
import type { ReplyStream } from '../../client/stream/reply-stream.ts'
import { Failure } from '../../contract/failure.ts'
import type { WholeReply } from '../../contract/reply/assembly.ts'
import type { StreamEvent, StreamFormat } from '../../contract/resources/stream-event.ts'
import type { Clock } from '../../system/clock.ts'
import type { Conversation } from '../conversation.ts'
import type { Recorder, TurnOutcome } from './recorder.ts'

export interface TurnOptions {
  client: Client
  conversation: Conversation
  recorder: Recorder
  clock: Clock
  prompt: string
  /** Aborted when the reply is no longer wanted. */
  signal: AbortSignal
  /** Called as soon as the service names a new conversation. */
  onContext?(id: string): void
}

/** One prompt and its reply. The prompt is recorded first, and the reply as its events are taken. */
export class Turn {
  readonly outcome: TurnOutcome = {
    end: undefined,
    failure: undefined,
    usage: undefined,
    newContextId: undefined,
    thoughtMs: undefined,
    firstMs: undefined,
    totalMs: 0,
  }
  text = ''
  /** Whether a part of the reply has arrived, or anything else about it. */
  hasBegun = false
  readonly #options: TurnOptions
  readonly #began: number
  #hasEnded = false
  #thinkingSince: number | undefined
  /** What has arrived since the last `flush`. */
  #pending = { reasoning: '', delta: '' }

  constructor(options: TurnOptions) {
    this.#options = options
    options.recorder.beginTurn(options.prompt)
    this.#began = options.clock.monotonic()
  }

  /** Whether the model has sent reasoning. */
  get hasReasoning(): boolean {
    return this.#thinkingSince !== undefined
  }

  /** Requests the reply as events. */
  stream(format: StreamFormat | undefined): Promise<ReplyStream> {
    const { client, conversation, prompt, signal } = this.#options
    const options = { format, signal }
    return conversation.mode === 'completions'
      ? client.chat.streamCompletion(conversation.completionRequest(prompt), options)
      : client.chat.stream(conversation.sendRequest(prompt), options)
  }

  /** Takes the next event. Its text is recorded by `flush`. */
  take(event: StreamEvent): void {
    const { conversation, recorder } = this.#options
    this.hasBegun = true
    if ('contextId' in event) this.#takeContext(event.contextId)
    if (event.type === 'start') {
      conversation.replyModel = event.model ?? conversation.replyModel
      recorder.start(event)
    } else if (event.type === 'reasoning') {
      this.#thinkingSince ??= this.#elapsed()
      if (this.#pending.delta !== '') this.flush()
      this.#pending.reasoning += event.text
    } else if (event.type === 'delta') {
      this.outcome.firstMs ??= this.#elapsed()
      this.text += event.text
      this.#pending.delta += event.text
    } else if (event.type === 'usage') {
      this.flush()
      this.outcome.usage = event.usage
      recorder.part({ type: 'usage', usage: event.usage })
    } else this.outcome.end = event
  }

  /** Takes a reply that arrived as a whole, and records it. */
  takeWhole({ reasoning, ...end }: WholeReply): void {
    const { conversation, recorder } = this.#options
    this.hasBegun = true
    this.#takeContext(end.contextId)
    conversation.replyModel = end.model ?? conversation.replyModel
    recorder.start(end)
    if (reasoning !== '') this.#thinkingSince = this.#elapsed()
    if (end.text !== '') this.outcome.firstMs = this.#elapsed()
    this.text = end.text
    this.#pending = { reasoning, delta: end.text }
    this.flush()
    if (end.usage) recorder.part({ type: 'usage', usage: end.usage })
    Object.assign(this.outcome, { end, usage: end.usage })
  }

  /** Records the text that has arrived. Call it before the text is shown. */
  flush(): void {
    const { reasoning, delta } = this.#pending
    this.#pending = { reasoning: '', delta: '' }
    if (reasoning !== '') this.#options.recorder.part({ type: 'reasoning', text: reasoning })
    if (delta !== '') this.#options.recorder.part({ type: 'delta', text: delta })
  }

  /** Keeps why no reply arrived, unless the reply tells it itself, or was stopped. */
  fail(error: unknown): void {
    const isKnown = this.#options.signal.aborted || this.outcome.end?.complete === false
    if (!isKnown && error instanceof Failure) this.outcome.failure = error
  }

  /** Ends the record. Further calls do nothing. */
  end(isStopped = this.#options.signal.aborted): void {
    const { outcome } = this
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.flush()
    outcome.totalMs = this.#elapsed()
    if (this.#thinkingSince !== undefined) {
      outcome.thoughtMs = Math.max(0, (outcome.firstMs ?? outcome.totalMs) - this.#thinkingSince)
    }
    this.#options.recorder.endTurn(outcome, isStopped)
  }

  #takeContext(id: string | undefined): void {
    const { conversation, onContext } = this.#options
    if (id === undefined || id === conversation.contextId || conversation.mode !== 'context') return
    conversation.contextId = id
    this.outcome.newContextId = id
    onContext?.(id)
  }

  #elapsed(): number {
    return Math.round(this.#options.clock.monotonic() - this.#began)
  }
}
