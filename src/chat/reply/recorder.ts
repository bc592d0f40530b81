import { Failure } from '../../contract/failure.ts'
import type { Usage } from '../../contract/resources/completion.ts'
import type { StreamEnd, StreamEvent } from '../../contract/resources/stream-event.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { describeFailure } from '../../view/failure-details.ts'
import type { Conversation } from '../conversation.ts'
import type { TranscriptLine } from '../transcript/transcript.ts'
import type { TranscriptWriter } from '../transcript/transcript-writer.ts'
import { describeTokens } from './tokens.ts'

/**
 * Writes the transcript of a session. A full disk does not end the session: the failure is shown
 * once, and nothing more is recorded.
 */
export class Recorder {
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

  /** Records the prompt and flushes it to disk, before it is sent. */
  beginTurn(text: string): void {
    this.turns++
    this.#append({ type: 'user', turn: this.turns, at: this.#now(), text })
    this.#sync()
  }

  start({ contextId, id, model }: Omit<Extract<StreamEvent, { type: 'start' }>, 'type'>): void {
    this.#append({ type: 'start', turn: this.turns, at: this.#now(), context_id: contextId, id, model })
  }

  /** Records a piece of the reply that is arriving, of the reasoning before it, or its usage. */
  part(part: { type: 'delta' | 'reasoning'; text: string } | { type: 'usage'; usage: Usage }): void {
    // The type first, as readers of outlines expect it.
    this.#append({ ...part, turn: this.turns })
  }

  endTurn(outcome: TurnOutcome, isStopped: boolean): void {
    this.#append({ type: 'end', turn: this.turns, at: this.#now(), ...describeEnd(outcome, isStopped) })
    this.#sync()
  }

  /** Records the last reply as the history of the service has it. */
  recovered(text: string): void {
    this.#append({ type: 'recovered', turn: this.turns, at: this.#now(), text })
    this.#sync()
  }

  /** Records the options in force from here on. */
  options(conversation: Conversation): void {
    this.#append(conversation.optionsLine(this.#now()))
  }

  /** Records all messages, when they are no longer the sum of the turns so far. */
  conversation(conversation: Conversation): void {
    this.#append(conversation.conversationLine(this.#now()))
  }

  name(name: string): void {
    this.#append({ type: 'name', name })
    this.#sync()
  }

  close(): void {
    this.#writer?.close()
  }

  #now = (): string => isoNow(this.#clock)

  #append(line: TranscriptLine): void {
    this.#attempt(() => this.#writer?.append(line))
  }

  #sync(): void {
    this.#attempt(() => this.#writer?.sync())
  }

  #attempt(work: () => void): void {
    if (this.#lost) return
    try {
      work()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.#lost = true
      this.#onLost(error)
    }
  }
}

function describeEnd({ end, failure, firstMs, totalMs }: TurnOutcome, isStopped: boolean) {
  return {
    complete: end?.complete ?? false,
    verified: end?.verified ?? false,
    finish_reason: end?.finishReason,
    end: end?.end ?? (isStopped ? ('interrupted' as const) : failure && ('failed' as const)),
    tools: end?.tools,
    id: end?.id,
    context_id: end?.contextId,
    reason: end?.failure ? describeFailure(end.failure) : end?.reason,
    interrupted: isStopped && !end ? (true as const) : undefined,
    error: failure && { code: failure.code, message: describeFailure(failure) },
    first_ms: firstMs,
    total_ms: totalMs,
  }
}

/** The result of a turn. Times are milliseconds since the request was sent, undefined if nothing arrived. */
export interface TurnOutcome {
  /** Undefined if the reply was stopped or never began. */
  end: StreamEnd | undefined
  /** Why no reply arrived. */
  failure: Failure | undefined
  usage: Usage | undefined
  /** The ID of the conversation, if this reply is the first one that names it. */
  newContextId: string | undefined
  /** How long reasoning arrived before the reply. */
  thoughtMs: number | undefined
  firstMs: number | undefined
  totalMs: number
}

/**
 * The line after a reply: model, tokens, time of the reasoning, time to the first and the last token, and where the
 * conversation is stored, but its ID only once.
 */
export function describeTurn(outcome: TurnOutcome, conversation: Conversation): string {
  const { thoughtMs = 0, firstMs, totalMs, end } = outcome
  const parts = [
    conversation.replyModel ?? conversation.model,
    describeTokens(conversation),
    // If the reasoning and the reply arrive together, the time is unknown.
    thoughtMs < 100 ? undefined : `thought ${seconds(thoughtMs)}`,
    firstMs === undefined ? undefined : `first ${seconds(firstMs)}`,
    `total ${seconds(totalMs)}`,
    whereaboutsOf(conversation, outcome),
    end?.complete && !end.verified ? 'the service did not mark the end' : undefined,
  ]
  // A narrow terminal breaks the line only between short parts.
  const known = parts.flatMap((part) => part || [])
  return known.map((part) => (part.length > 36 ? part : part.replaceAll(' ', '\u00a0'))).join('\u00a0· ')
}

function whereaboutsOf({ mode }: Conversation, { newContextId, end }: TurnOutcome): string | undefined {
  if (mode === 'completions') return `stored on this machine${end?.isWholeBody ? ', not streamed' : ''}`
  return newContextId === undefined ? undefined : `conversation ${newContextId}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
}
