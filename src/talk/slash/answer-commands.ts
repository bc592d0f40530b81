import { Failure } from '../../contract/failure.ts'
import { recover, sendInstead, sendPrompt } from '../answer/answer-prompt.ts'
import { goOnExactly, goOnFurther } from '../conversation.ts'
import { asTyped, type Session } from '../session.ts'
import { copyText } from './copy-text.ts'
import { saveText } from './save-text.ts'
import type { SlashCommand } from './slash-command.ts'

/** What can be done about the last answer. */
export const answerCommands: readonly SlashCommand[] = [
  {
    name: 'retry',
    summary: 'Send the last message again and replace its reply',
    run: async (session) => {
      const { unsent } = session
      if (unsent) {
        session.replacesLastPrompt = unsent.replacesLastPrompt
        return sendPrompt(session, unsent.prompt)
      }
      const prompt = demandPrompt(session)
      session.output.showPrompt(prompt)
      await sendInstead(session, prompt)
    },
  },
  {
    name: 'edit',
    summary: 'Edit the last message and send it again',
    run: async (session) => {
      const prompt = demandPrompt(session)
      if (!session.keyboard.input.setText(asTyped(prompt))) {
        throw new Failure('usage', 'This terminal does not support editing a message')
      }
      session.replacesLastPrompt = true
      session.output.note('Press Enter to replace the last message, or Ctrl-C to cancel.')
    },
  },
  {
    name: 'continue',
    summary: 'Get the rest of an interrupted or truncated reply',
    run: async (session) => {
      const { cutAnswer } = session
      // Where the search is stopped, nothing is to be sent either.
      let isOver = cutAnswer !== undefined
      if (cutAnswer) {
        await session.stoppable(async (signal) => {
          isOver = await recover(session, cutAnswer, signal)
        })
      }
      if (isOver) return
      demandPrompt(session)
      if (!cutAnswer) session.output.note('The last reply seems complete. Asking for more.')
      const goOn = cutAnswer ? goOnExactly : goOnFurther
      session.output.showPrompt(goOn)
      await sendPrompt(session, goOn)
    },
  },
  {
    name: 'copy',
    summary: 'Copy the last reply to the clipboard',
    run: async (session) => {
      const how = await copyText(demandAnswer(session), session.options)
      session.output.note(how)
    },
  },
  {
    name: 'save',
    argument: 'FILE',
    summary: 'Save the last reply to a new file',
    takesPath: true,
    run: async (session, path) => {
      const answer = demandAnswer(session)
      session.output.note(
        `Saved to ${await saveText(path, answer.endsWith('\n') ? answer : `${answer}\n`, session.options)}`,
      )
    },
  },
]

function demandPrompt({ conversation }: Session): string {
  const { lastPrompt } = conversation
  if (lastPrompt === undefined) throw new Failure('usage', 'No message has been sent yet')
  return lastPrompt
}

function demandAnswer({ conversation }: Session): string {
  const { lastAnswer } = conversation
  if (lastAnswer === undefined) throw new Failure('usage', 'There is no reply yet')
  return lastAnswer
}
