import type { Failure } from '../../contract/failure.ts'
import type { StreamEnd } from '../../contract/stream-event.ts'
import type { ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import type { Screen } from '../../terminal/screen/screen.ts'
import { countOf } from '../../view/count.ts'
import { describeFailure } from '../../view/failure-details.ts'
import type { SessionOptions } from '../session-options.ts'
import { type ConversationHost, switchToCompletions } from './conversation-mode.ts'
import { type PartialReply, recoverReply } from './recover-reply.ts'
import { ReplyDisplay } from './reply-display.ts'
import { stopped, takeTurn } from './take-turn.ts'
import { describeTurn } from './turn-outcome.ts'

/** A prompt that got no reply. */
export interface UnsentPrompt {
  prompt: string
  replacesLastPrompt: boolean
}

/** The parts of a session that sending a prompt uses and changes. */
interface PromptHost extends ConversationHost {
  readonly options: Pick<SessionOptions, 'clock' | 'terminal' | 'streamFormat' | 'rememberContext'>
  readonly screen: Screen
  /** Whether the screen must not change by itself. */
  readonly isStatic: boolean
  unsent: UnsentPrompt | undefined
  partialReply: PartialReply | undefined
  replacesLastPrompt: boolean
  createWriter(): ReplyWriter
  createReasoningWriter(): ReplyWriter
  returnPrompt(prompt: string): void
}

/**
 * Sends a prompt, shows the reply, and reports how it ended. If nothing arrives, the prompt is offered
 * again.
 */
async function sendAndShow(session: PromptHost, prompt: string, signal: AbortSignal): Promise<void> {
  const { conversation, recorder, client, options } = session
  const display = createDisplay(session)
  const reasoning = createReasoningDisplay(session)
  session.unsent = undefined
  session.screen.separate()
  const stopWatch = showStall(session, display)
  if (conversation.mode === 'completions') {
    session.status.begin('waiting for the full reply, not streamed (Ctrl-C discards it)…')
  }
  const { streamFormat, clock } = options
  // Remembered during the reply, so that it survives a crash; but after the text that has arrived.
  const onContext = (id: string): void => {
    setImmediate(() => {
      if (conversation.contextId === id) options.rememberContext(id).catch(() => {})
    })
  }
  const turn = takeTurn({
    client,
    conversation,
    recorder,
    display,
    reasoning,
    prompt,
    signal,
    clock,
    streamFormat,
    onContext,
  })
  const outcome = await turn.finally(stopWatch)
  session.status.clear()
  const { end } = outcome
  // An error that the service sends before any text is not a truncated reply.
  const failure = outcome.failure ?? (display.text === '' ? errorInPlaceOfReply(end) : undefined)
  if (failure) {
    session.output.showFailure(failure)
    session.returnPrompt(prompt)
    return session.screen.separate()
  }
  if (!end && display.text === '') {
    session.output.note(
      reasoning.text === '' ? '[stopped before a reply arrived]' : '[stopped while the model was thinking]',
    )
    session.returnPrompt(prompt)
    return session.screen.separate()
  }
  const partial = { prompt, part: display.text, replyId: end?.id }
  if (!end) session.output.note('[interrupted]')
  else if (!end.complete) session.output.note(describeTruncation(end, display.text, reasoning.text))
  else if (display.text === '' && reasoning.text !== '')
    session.output.note('[the model sent only reasoning, and no reply]')
  session.partialReply = end?.complete ? undefined : partial
  if (end && !end.complete) {
    const isRecovered = await recover(session, partial, signal).catch((error) => {
      // The turn has ended anyway.
      if (signal.reason !== stopped) throw error
      session.status.clear()
      return false
    })
    if (!isRecovered && display.text === '') {
      session.returnPrompt(prompt)
      session.screen.separate()
      return rememberContext(session)
    }
  }
  session.output.note(`  ${describeTurn(outcome, conversation)}`)
  if (conversation.mode === 'context' && conversation.contextId === undefined) {
    await switchToCompletions(session, 'the service returned no context ID')
  }
  session.screen.separate()
  await rememberContext(session)
}

function describeTruncation({ failure, reason }: StreamEnd, text: string, reasoning: string): string {
  const length = countOf(Array.from(text).length, 'character')
  const when = text === '' && reasoning !== '' ? 'while the model was thinking' : `after ${length}`
  return `[truncated ${when}: ${failure ? describeFailure(failure) : reason}]`
}

function errorInPlaceOfReply(end: StreamEnd | undefined): Failure | undefined {
  return end?.failure?.kind === 'truncated' ? undefined : end?.failure
}

/** Not a failure if it cannot be stored: the service has the conversation. */
async function rememberContext(session: PromptHost): Promise<void> {
  const { conversation, options } = session
  const { mode, contextId } = conversation
  if (mode !== 'context' || contextId === undefined) return
  try {
    await options.rememberContext(contextId)
  } catch (error) {
    session.output.note((error as Error).message)
  }
}

/**
 * Shows a status if a reply has begun and no more text arrives.
 * @returns stops watching
 */
function showStall({ status, isStatic }: PromptHost, display: ReplyDisplay): () => void {
  let length = 0
  let quiet = 0
  const timer = setInterval(() => {
    const { text } = display
    quiet = text.length === length ? quiet + 1 : 0
    length = text.length
    if (quiet === 3 && length > 0 && !isStatic)
      status.showElapsed('no more text yet… (Ctrl-C keeps the partial reply)')
  }, 1000)
  return () => clearInterval(timer)
}

function createDisplay(session: PromptHost): ReplyDisplay {
  const { screen, status, options, recorder } = session
  return new ReplyDisplay({
    screen,
    terminal: options.terminal,
    writer: session.createWriter(),
    record: (text) => {
      status.clear()
      recorder.delta(text)
    },
  })
}

/** While reasoning arrives, the status says so, whether the reasoning is shown or not. */
function createReasoningDisplay(session: PromptHost): ReplyDisplay {
  const { screen, status, options, recorder } = session
  let hasBegun = false
  return new ReplyDisplay({
    screen,
    terminal: options.terminal,
    writer: session.createReasoningWriter(),
    record: (text) => {
      if (!hasBegun) status.showElapsed('Thinking…')
      hasBegun = true
      recorder.reasoning(text)
    },
  })
}

/**
 * Looks for the rest of an incomplete reply in the history of the service, and shows it.
 * @returns whether the history had more
 */
export async function recover(
  session: PromptHost,
  partial: PartialReply,
  signal: AbortSignal,
): Promise<boolean> {
  const { conversation, client } = session
  const { contextId } = conversation
  if (conversation.mode !== 'context' || contextId === undefined) return false
  session.status.begin('reading the history…')
  const recovery = await recoverReply(
    client,
    { ...partial, contextId, messagesHere: conversation.messages },
    signal,
  )
  session.status.clear()
  switch (recovery.kind) {
    case 'more': {
      session.output.note('[the rest of the reply, from the history of the service]')
      session.output.showReply(recovery.rest)
      if (partial.part === '') conversation.add(partial.prompt, recovery.text)
      else conversation.replaceLastReply(recovery.text)
      session.recorder.recovered(recovery.text)
      session.partialReply = undefined
      return true
    }
    case 'same':
      session.output.note('[the history has no more of this reply; /continue tries again]')
      return false
    case 'absent':
      session.output.note('[this reply is not in the history; /continue tries again]')
      return false
    case 'unknown':
      session.output.note(`[cannot read the history: ${recovery.reason}; /continue tries again]`)
      return false
  }
}

/** Sends a prompt, or replaces the last one if that is being edited. Ctrl-C stops the reply. */
export async function sendPrompt(session: PromptHost, prompt: string): Promise<void> {
  if (session.replacesLastPrompt) return sendReplacement(session, prompt)
  await session.stoppable((signal) => sendAndShow(session, prompt, signal))
}

/**
 * Sends a prompt that replaces the last one and its reply. If no reply arrives, the conversation is
 * restored, and the prompt is offered again, still as a replacement.
 */
export async function sendReplacement(session: PromptHost, prompt: string): Promise<void> {
  const { conversation, recorder } = session
  session.replacesLastPrompt = true
  const before = { ...conversation, messages: [...conversation.messages] }
  try {
    if (conversation.hasOnePrompt && !conversation.hasParameters) beginAnew(session)
    else await switchToCompletions(session, 'the context would still contain the replaced message')
  } catch (error) {
    session.returnPrompt(prompt)
    throw error
  }
  conversation.removeLastPrompt()
  conversation.isOnService = conversation.mode === 'context'
  recorder.conversation(conversation)
  await session.stoppable((signal) => sendAndShow(session, prompt, signal))
  if (session.unsent === undefined) {
    session.replacesLastPrompt = false
    return
  }
  if (before.mode === 'context' && conversation.mode === 'completions') {
    session.output.note('[the conversation is unchanged: the service stores it, and replies are streamed]')
  }
  Object.assign(conversation, before)
  recorder.options(conversation)
  recorder.conversation(conversation)
  await rememberContext(session)
}

/** If the replaced prompt is the first one, a new context suffices, and the reply is streamed. */
function beginAnew({ conversation, recorder, output }: PromptHost): void {
  const { contextId } = conversation
  conversation.mode = 'context'
  conversation.contextId = undefined
  recorder.options(conversation)
  const left = contextId === undefined ? '' : `; context ${contextId} is unchanged`
  output.note(`[sent in a new conversation${left}]`)
}
