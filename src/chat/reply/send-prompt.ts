import { Failure } from '../../contract/failure.ts'
import type { StreamEnd } from '../../contract/resources/stream-event.ts'
import type { ReplyWriter } from '../../terminal/markdown/plain-writer.ts'
import type { Screen } from '../../terminal/screen/screen.ts'
import { describeFailure } from '../../view/failure-details.ts'
import { countOf } from '../../view/format/quantities.ts'
import { noteReplyEnd } from '../../view/reply-end.ts'
import { Exchange } from '../exchange.ts'
import type { SessionOptions } from '../session-options.ts'
import { isGone } from '../transcript/check-deliveries.ts'
import { type ConversationHost, switchToCompletions } from './conversation-mode.ts'
import { describeExchange } from './describe-exchange.ts'
import { recover } from './recover-reply.ts'
import { ReplyDisplay } from './reply-display.ts'

/** A prompt that got no reply. */
export interface UnsentPrompt {
  prompt: string
  replacesLastPrompt: boolean
}

/** The parts of a session that sending a prompt uses and changes. */
interface PromptHost extends ConversationHost {
  readonly options: SessionOptions
  readonly screen: Screen
  unsent: UnsentPrompt | undefined
  replacesLastPrompt: boolean
  streamsCompletions: boolean | undefined
  /** @param isWhole whether the whole text is known, so that all rows of a table decide its widths */
  createWriter(isWhole?: boolean): ReplyWriter
  createReasoningWriter(): ReplyWriter
  returnPrompt(prompt: string): void
}

const notStreamed =
  '[this service does not stream completions: each reply arrives as a whole, and Ctrl-C discards it]'

/** The reason of an abort by Ctrl-C. */
export const stopped = new Error('stopped')

/** Sends a prompt, shows the reply, and reports how it ended. If nothing arrives, the prompt is offered again. */
async function sendAndShow(session: PromptHost, prompt: string, signal: AbortSignal): Promise<void> {
  const { conversation, recorder, client, options, status, screen } = session
  session.unsent = undefined
  screen.separate()
  if (conversation.mode === 'completions' && session.streamsCompletions === false) {
    status.begin('waiting for the full reply, not streamed (Ctrl-C discards it)…')
  }
  // Remembered during the reply, so that it survives a crash; but after the text that has arrived.
  const onContext = (id: string): void => {
    setImmediate(() => {
      if (conversation.contextId === id) void rememberContext(session)
    })
  }
  const { clock } = options.run
  const exchange = new Exchange({ client, conversation, recorder, clock, signal, onContext })
  const stopWatch = showStall(session, exchange)
  await showReply(session, exchange, prompt, signal).finally(stopWatch)
  status.clear()
  if (await reportTurn(session, prompt, exchange, signal)) await afterReply(session, exchange)
  else session.returnPrompt(prompt)
  screen.separate()
  if (exchange.hasBegun) await rememberContext(session)
}

/**
 * Shows a reply while it arrives. Everything is recorded before it is shown.
 * @throws the reason of the signal, unless it is `stopped`
 */
async function showReply(
  session: PromptHost,
  exchange: Exchange,
  prompt: string,
  signal: AbortSignal,
): Promise<void> {
  const display = createDisplay(session)
  const reasoning = createReasoningDisplay(session)
  try {
    for await (const event of exchange.stream(prompt, session.options.streamFormat)) {
      if (event.type === 'delta') {
        reasoning.end()
        await display.add(event.text)
      } else if (event.type === 'reasoning') {
        display.flush()
        await reasoning.add(event.text)
      }
    }
  } catch (error) {
    if (signal.reason !== stopped && (signal.aborted || !(error instanceof Failure))) throw error
  } finally {
    // Also if the whole session ends here.
    reasoning.end()
    display.end()
  }
}

/** @returns whether a part of a reply has arrived, so that the prompt is not offered again */
async function reportTurn(
  session: PromptHost,
  prompt: string,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<boolean> {
  const { output } = session
  const { reply: text, end, hasReasoning } = exchange
  // An error that the service sends before any text is not a truncated reply.
  const failure = exchange.failure ?? (text === '' ? errorInPlaceOfReply(end) : undefined)
  if (failure) {
    output.showFailure(failure)
    const { contextId } = session.conversation
    const mayBeGone = failure.kind === 'not_found' && !exchange.isCompletion && contextId !== undefined
    if (mayBeGone && (await isGone(session.options.run, session.client, contextId, session.recorder)))
      output.note('[the service no longer has this conversation; /fork continues in a copy on this machine]')
    return false
  }
  if (!end && text === '') {
    const when = hasReasoning ? 'while the model was thinking' : 'before a reply arrived'
    output.note(`[stopped ${when}]`)
    return false
  }
  if (!end) output.note('[interrupted]')
  else if (!end.complete) output.note(describeTruncation(end, exchange))
  const why = end?.complete && noteReplyEnd(end, hasReasoning)
  if (why) output.note(`[${why}]`)
  const hasEnded = end?.end === 'length' || end?.end === 'empty'
  const partial = { prompt, part: text, replyId: end?.id, hasEnded }
  session.partialReply = end?.complete && !hasEnded ? undefined : partial
  if (!end || end.complete) return true
  const isRecovered = await recover(session, partial, '/continue asks the model for the rest', signal).catch(
    (error) => {
      // The turn has ended anyway.
      if (signal.reason !== stopped) throw error
      session.status.clear()
      return false
    },
  )
  return isRecovered || text !== ''
}

/** Shows what is known of a reply, and where the conversation continues. */
async function afterReply(session: PromptHost, exchange: Exchange): Promise<void> {
  const { conversation, output } = session
  const { end, isCompletion } = exchange
  output.note(`  ${describeExchange(exchange)}`)
  if (isCompletion && end) {
    const isNews = session.streamsCompletions === undefined && end.isWholeBody
    session.streamsCompletions = !end.isWholeBody
    if (isNews) output.note(notStreamed)
  }
  if (!isCompletion && conversation.contextId === undefined) {
    await switchToCompletions(session, 'the service returned no conversation ID')
  }
}

function describeTruncation({ failure, reason }: StreamEnd, { reply: text, hasReasoning }: Exchange): string {
  const length = countOf(Array.from(text).length, 'character')
  const when = text === '' && hasReasoning ? 'while the model was thinking' : `after ${length}`
  return `[truncated ${when}: ${failure ? describeFailure(failure) : reason}]`
}

function errorInPlaceOfReply(end: StreamEnd | undefined): Failure | undefined {
  return end?.failure?.kind === 'truncated' ? undefined : end?.failure
}

async function rememberContext({ conversation, options, recorder }: PromptHost): Promise<void> {
  const { mode, contextId } = conversation
  if (recorder.path === undefined && mode === 'context' && contextId !== undefined)
    await options.rememberContext(contextId)
}

/** Shows a status if a reply has begun and no more text arrives. @returns stops watching */
function showStall({ status, options }: PromptHost, exchange: Exchange): () => void {
  let length = 0
  let quiet = 0
  const timer = setInterval(() => {
    const { reply } = exchange
    quiet = reply.length === length ? quiet + 1 : 0
    length = reply.length
    if (quiet === 3 && length > 0 && !options.isPlain)
      status.showElapsed('no more text yet… (Ctrl-C keeps the partial reply)')
  }, 1000)
  return () => clearInterval(timer)
}

function createDisplay(session: PromptHost): ReplyDisplay {
  const { screen, status, options } = session
  const isWhole = session.conversation.mode === 'completions' && session.streamsCompletions === false
  const writer = session.createWriter(isWhole)
  return new ReplyDisplay({ screen, terminal: options.terminal, writer, beforeShown: () => status.clear() })
}

/** While reasoning arrives, the status says so, whether the reasoning is shown or not. */
function createReasoningDisplay(session: PromptHost): ReplyDisplay {
  const { screen, status, options } = session
  let hasBegun = false
  const beforeShown = (): void => {
    if (!hasBegun) status.showElapsed('Thinking…')
    hasBegun = true
  }
  const writer = session.createReasoningWriter()
  return new ReplyDisplay({ screen, terminal: options.terminal, writer, beforeShown })
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
    else await switchToCompletions(session, 'the service would still have the replaced message')
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
    session.output.note('[the conversation is unchanged: the service stores it]')
  }
  Object.assign(conversation, before)
  recorder.options(conversation)
  recorder.conversation(conversation)
  await rememberContext(session)
}

/** If the replaced prompt is the first one, a new conversation suffices. */
function beginAnew({ conversation, recorder, output }: PromptHost): void {
  const { contextId } = conversation
  conversation.mode = 'context'
  conversation.contextId = undefined
  recorder.options(conversation)
  const left = contextId === undefined ? '' : `; conversation ${contextId} is unchanged`
  output.note(`[sent in a new conversation${left}]`)
}
