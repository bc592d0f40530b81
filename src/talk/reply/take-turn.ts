import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import type { StreamFormat } from '../../contract/stream-event.ts'
import type { Clock } from '../../system/clock.ts'
import { slicesInTurns } from '../../terminal/slices-in-turns.ts'
import type { Conversation } from '../conversation.ts'
import { completionEvents } from './completion-events.ts'
import type { Recorder } from './recorder.ts'
import type { ReplyDisplay } from './reply-display.ts'
import type { TurnOutcome } from './turn-outcome.ts'

interface TurnOptions {
  client: Client
  conversation: Conversation
  recorder: Recorder
  display: ReplyDisplay
  reasoning: ReplyDisplay
  prompt: string
  /** Aborted with `stopped` by Ctrl-C. */
  signal: AbortSignal
  clock: Clock
  streamFormat: StreamFormat | undefined
  /** Called as soon as the service names a new context. */
  onContext(id: string): void
}

/** The reason of an abort by Ctrl-C. */
export const stopped = new Error('stopped')

/**
 * Sends one prompt and shows its reply. Everything is recorded before it is sent or shown.
 *
 * @throws the reason of the signal, unless it is `stopped`
 */
export async function takeTurn(options: TurnOptions): Promise<TurnOutcome> {
  const { conversation, recorder, display, reasoning, prompt, signal, clock } = options
  const turn = recorder.beginTurn(prompt)
  const began = clock.monotonic()
  const elapsed = (): number => Math.round(clock.monotonic() - began)
  let thinkingSince: number | undefined
  const outcome: TurnOutcome = {
    end: undefined,
    failure: undefined,
    usage: undefined,
    newContextId: undefined,
    thoughtMs: undefined,
    firstMs: undefined,
    totalMs: 0,
  }
  try {
    for await (const event of await openEvents(options)) {
      const contextId = 'contextId' in event ? event.contextId : undefined
      if (contextId !== undefined && contextId !== conversation.contextId) {
        conversation.contextId = contextId
        outcome.newContextId = contextId
        options.onContext(contextId)
      }
      if (event.type === 'start') {
        conversation.replyModel = event.model ?? conversation.replyModel
        turn.start(event)
      } else if (event.type === 'reasoning') {
        thinkingSince ??= elapsed()
        display.flush()
        await reasoning.add(event.text)
      } else if (event.type === 'delta') {
        outcome.firstMs ??= elapsed()
        reasoning.end()
        for await (const slice of slicesInTurns(event.text)) {
          signal.throwIfAborted()
          await display.add(slice)
        }
      } else if (event.type === 'usage') {
        outcome.usage = event.usage
        turn.usage(event.usage)
      } else outcome.end = event
    }
  } catch (error) {
    if (signal.reason !== stopped && (signal.aborted || !(error instanceof Failure))) throw error
    if (!signal.aborted && error instanceof Failure) outcome.failure = error
  } finally {
    // Also if the whole session ends here.
    outcome.totalMs = elapsed()
    if (thinkingSince !== undefined)
      outcome.thoughtMs = Math.max(0, (outcome.firstMs ?? outcome.totalMs) - thinkingSince)
    reasoning.end()
    display.end()
    turn.end(outcome, signal.aborted)
    if (outcome.end?.complete || display.text !== '') conversation.add(prompt, display.text)
  }
  return outcome
}

async function openEvents({ client, conversation, prompt, signal, streamFormat }: TurnOptions) {
  if (conversation.mode === 'completions') {
    const { body } = await client.chat.complete(conversation.completionRequest(prompt), { signal })
    return completionEvents(body)
  }
  return client.chat.stream(conversation.sendRequest(prompt), { signal, format: streamFormat })
}
