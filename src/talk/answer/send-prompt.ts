import type { Session } from '../session.ts'
import { answerPrompt } from './answer-prompt.ts'
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
  try {
    await keepHere(session, 'the context would remember what was asked and answered first')
  } catch (error) {
    session.giveBack(prompt)
    throw error
  }
  const before = [...conversation.messages]
  conversation.takeBackLastPrompt()
  recorder.conversation(conversation)
  await session.stoppable((signal) => answerPrompt(session, prompt, signal))
  session.replacesLastPrompt = session.unsent !== undefined
  if (!session.replacesLastPrompt) return
  conversation.messages = before
  recorder.conversation(conversation)
}
