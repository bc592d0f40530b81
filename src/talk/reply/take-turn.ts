import type { Client } from '../../client/client.ts'
import type { CompletionRequest } from '../../contract/completion.ts'
import { Failure } from '../../contract/failure.ts'
import { reasoningIn } from '../../contract/reasoning.ts'
import type { StreamEvent, StreamFormat } from '../../contract/stream-event.ts'
import type { Clock } from '../../system/clock.ts'
import type { Conversation } from '../conversation.ts'
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
        await display.add(event.text)
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
    return completionEvents(client, conversation.completionRequest(prompt), signal)
  }
  return client.chat.stream(conversation.sendRequest(prompt), { signal, format: streamFormat })
}

/** A completion as the events of a stream that arrives at once. */
async function* completionEvents(
  client: Client,
  request: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void> {
  const { body } = await client.chat.complete(request, { signal })
  const choices = Array.isArray(body?.choices) ? body.choices : []
  const choice = choices.find(({ message }) => typeof message?.content === 'string') ?? choices[0]
  const text = choice?.message?.content ?? ''
  const reasoning = reasoningIn(choice?.message)
  const id = body?.id ?? undefined
  const model = body?.model ?? undefined
  const finishReason = choice?.finish_reason ?? undefined
  const usage = body?.usage
  yield { type: 'start', ...(id !== undefined && { id }), ...(model !== undefined && { model }) }
  if (reasoning !== undefined) yield { type: 'reasoning', text: reasoning }
  if (text !== '') yield { type: 'delta', text }
  if (usage) yield { type: 'usage', usage }
  yield {
    type: 'end',
    complete: true,
    verified: true,
    ...(finishReason !== undefined && { finishReason }),
    ...(id !== undefined && { id }),
    text,
  }
}
