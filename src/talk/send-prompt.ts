import { answerPrompt } from './answer-prompt.ts'
import { takeBackLastPrompt } from './keep-here.ts'
import type { Session } from './session.ts'

/** Sends a prompt, in place of the last one where that is being changed; Ctrl-C stops the answer. */
export async function sendPrompt(session: Session, prompt: string): Promise<void> {
  if (session.replacesLastPrompt) {
    try {
      await takeBackLastPrompt(session, 'the context would remember the question as it was')
    } catch (error) {
      session.giveBack(prompt)
      throw error
    }
  }
  await session.stoppable((signal) => answerPrompt(session, prompt, signal))
}
