import type { Failure } from '../../contract/failure.ts'
import type { StreamEnd } from '../../contract/stream-event.ts'
import type { AnswerWriter } from '../../terminal/markdown/plain-writer.ts'
import type { Screen } from '../../terminal/screen/screen.ts'
import { countOf } from '../../view/count.ts'
import { describeFailure } from '../../view/failure-details.ts'
import type { SessionOptions } from '../session-options.ts'
import { AnswerDisplay } from './answer-display.ts'
import { type ConversationHost, keepHere } from './conversation-mode.ts'
import { type CutAnswer, recoverAnswer } from './recover-answer.ts'
import { stopped, takeTurn } from './take-turn.ts'
import { describeTurn } from './turn-outcome.ts'

/** A prompt that got no reply, and whether it was to take the place of the last one. */
export interface UnsentPrompt {
  prompt: string
  replacesLastPrompt: boolean
}

/** What it takes to send a prompt and show the reply, and what changes by it. */
interface PromptHost extends ConversationHost {
  readonly options: Pick<SessionOptions, 'clock' | 'terminal' | 'streamFormat' | 'rememberContext'>
  readonly screen: Screen
  /** Whether nothing on the screen may change by itself. */
  readonly isStill: boolean
  unsent: UnsentPrompt | undefined
  cutAnswer: CutAnswer | undefined
  replacesLastPrompt: boolean
  createWriter(): AnswerWriter
  giveBack(prompt: string): void
}

/**
 * Sends a prompt, shows what comes and says how it ended. Where nothing came at all the prompt is
 * given back.
 */
async function answerPrompt(session: PromptHost, prompt: string, signal: AbortSignal): Promise<void> {
  const { conversation, recorder, client, options } = session
  const display = createDisplay(session)
  session.unsent = undefined
  const stopWatch = watchSilence(session, display)
  if (conversation.mode === 'completions') {
    session.status.during('waiting for the full reply, not streamed (Ctrl-C discards it)…')
  }
  const { streamFormat, clock } = options
  // Also for a session that does not live to the end of this answer. Its words go first.
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
    prompt,
    signal,
    clock,
    streamFormat,
    onContext,
  })
  const outcome = await turn.finally(stopWatch)
  session.status.clear()
  const { end } = outcome
  // An error that the service says in place of an answer is none that was cut off.
  const failure = outcome.failure ?? (display.text === '' ? refusalIn(end) : undefined)
  if (failure) {
    session.output.sayFailure(failure)
    session.giveBack(prompt)
    return session.screen.separate()
  }
  if (!end && display.text === '') {
    session.output.note('[stopped before a reply arrived]')
    session.giveBack(prompt)
    return session.screen.separate()
  }
  const cut = { prompt, part: display.text, answerId: end?.id }
  if (!end) session.output.note('[interrupted]')
  else if (!end.complete)
    session.output.note(
      `[truncated after ${countOf(Array.from(display.text).length, 'character')}: ${end.failure ? describeFailure(end.failure) : end.reason}]`,
    )
  session.cutAnswer = end?.complete ? undefined : cut
  if (end && !end.complete) {
    await recover(session, cut, signal).catch((error) => {
      // The turn is over all the same.
      if (signal.reason !== stopped) throw error
      session.status.clear()
    })
  }
  session.output.note(`  ${describeTurn(outcome, conversation)}`)
  if (conversation.mode === 'context' && conversation.contextId === undefined) {
    await keepHere(session, 'the service returned no context ID')
  }
  session.screen.separate()
  await rememberContext(session)
}

function refusalIn(end: StreamEnd | undefined): Failure | undefined {
  return end?.failure?.kind === 'truncated' ? undefined : end?.failure
}

/** The conversation is safe on the service: that it cannot be remembered here is no failure. */
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
 * Says so where an answer has begun and nothing more comes.
 * @returns ends that
 */
function watchSilence({ status, isStill }: PromptHost, display: AnswerDisplay): () => void {
  let length = 0
  let quiet = 0
  const timer = setInterval(() => {
    const { text } = display
    quiet = text.length === length ? quiet + 1 : 0
    length = text.length
    if (quiet === 3 && length > 0 && !isStill)
      status.since('no more text yet… (Ctrl-C keeps the partial reply)')
  }, 1000)
  return () => clearInterval(timer)
}

/** Where the next answer appears. */
function createDisplay(session: PromptHost): AnswerDisplay {
  const { screen, status, options, recorder } = session
  return new AnswerDisplay({
    screen,
    terminal: options.terminal,
    writer: session.createWriter(),
    record: (text) => {
      status.clear()
      recorder.delta(text)
    },
  })
}

/**
 * Asks whether the service finished what did not come, and shows the rest of it.
 * @returns whether there was more
 */
export async function recover(session: PromptHost, cut: CutAnswer, signal: AbortSignal): Promise<boolean> {
  const { conversation, client } = session
  const { contextId } = conversation
  if (conversation.mode !== 'context' || contextId === undefined) return false
  session.status.during('reading the history…')
  const recovery = await recoverAnswer(client, { ...cut, contextId, said: conversation.messages }, signal)
  session.status.clear()
  switch (recovery.kind) {
    case 'more': {
      session.output.note('[the rest of the reply, from the history of the service]')
      session.output.showAnswer(recovery.rest)
      if (cut.part === '') conversation.add(cut.prompt, recovery.text)
      else conversation.replaceAnswer(recovery.text)
      session.recorder.recovered(recovery.text)
      session.cutAnswer = undefined
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

/** Sends a prompt, in place of the last one where that is being changed; Ctrl-C stops the answer. */
export async function sendPrompt(session: PromptHost, prompt: string): Promise<void> {
  if (session.replacesLastPrompt) return sendInstead(session, prompt)
  await session.stoppable((signal) => answerPrompt(session, prompt, signal))
}

/**
 * Sends a prompt in place of the last one and of what was answered to that. Where no answer comes,
 * the conversation is as it was, and the prompt is given back to take that place once more.
 */
export async function sendInstead(session: PromptHost, prompt: string): Promise<void> {
  const { conversation, recorder } = session
  session.replacesLastPrompt = true
  const before = { ...conversation, messages: [...conversation.messages] }
  try {
    if (conversation.hasOnePrompt && !conversation.hasParameters) beginAnew(session)
    else await keepHere(session, 'the context would still contain the replaced message')
  } catch (error) {
    session.giveBack(prompt)
    throw error
  }
  conversation.takeBackLastPrompt()
  conversation.isOnService = conversation.mode === 'context'
  recorder.conversation(conversation)
  await session.stoppable((signal) => answerPrompt(session, prompt, signal))
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

/** Where nothing comes before the question, another context does without it, and streams the reply. */
function beginAnew({ conversation, recorder, output }: PromptHost): void {
  const { contextId } = conversation
  conversation.mode = 'context'
  conversation.contextId = undefined
  recorder.options(conversation)
  const left = contextId === undefined ? '' : `; context ${contextId} is unchanged`
  output.note(`[sent in a new conversation${left}]`)
}
