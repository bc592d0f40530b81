import type { Session } from '../session.ts'
import { answerPrompt, rememberContext } from './answer-prompt.ts'
import { keepHere } from './keep-here.ts'

/** Sends a prompt, in place of the last one where that is being changed; Ctrl-C stops the answer. */
export async function sendPrompt(session: Session, prompt: string): Promise<void> {
  if (session.replacesLastPrompt) return sendInstead(session, prompt)
  await session.stoppable((signal) => answerPrompt(session, prompt, signal))
}

/**
 * Sends a prompt in place of the last one and of what was answered to that. Where no answer comes,
 * the conversation is as it was, and the prompt is given back to take that place once more.
 */
export async function sendInstead(session: Session, prompt: string): Promise<void> {
  const { conversation, recorder } = session
  session.replacesLastPrompt = true
  const before = { ...conversation, messages: [...conversation.messages] }
  try {
    if (conversation.hasOnePrompt && !conversation.hasParameters) beginAnew(session)
    else await keepHere(session, 'the context would remember what was asked and answered first')
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
    session.voice.note('[the conversation is as it was: the service keeps it, and replies are streamed]')
  }
  Object.assign(conversation, before)
  recorder.options(conversation)
  recorder.conversation(conversation)
  await rememberContext(session)
}

/** Where nothing comes before the question, another context does without it, and streams the reply. */
function beginAnew({ conversation, recorder, voice }: Session): void {
  const { contextId } = conversation
  conversation.mode = 'context'
  conversation.contextId = undefined
  recorder.options(conversation)
  const left = contextId === undefined ? '' : `: context ${contextId} stays as it is`
  voice.note(`[asked in a new conversation${left}]`)
}
