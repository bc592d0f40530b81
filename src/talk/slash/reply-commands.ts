import { Failure } from '../../contract/failure.ts'
import { findCodeBlocks, selectCode } from '../../terminal/markdown/code-blocks.ts'
import { readCodeSelection } from '../../terminal/markdown/code-selection.ts'
import { continueExactly, continueFromEnd } from '../conversation.ts'
import { recover, sendPrompt, sendReplacement } from '../reply/send-prompt.ts'
import { asTyped, type Session } from '../session.ts'
import { copyText } from './copy-text.ts'
import { saveText } from './save-text.ts'
import type { SlashCommand } from './slash-command.ts'

/** Commands for the last prompt and its reply. */
export const replyCommands: readonly SlashCommand[] = [
  {
    name: 'retry',
    summary: 'Send the last message again and replace its reply',
    run: async (session) => {
      const { unsent } = session
      if (unsent) {
        session.replacesLastPrompt = unsent.replacesLastPrompt
        return sendPrompt(session, unsent.prompt)
      }
      const prompt = requireLastPrompt(session)
      session.output.showPrompt(prompt)
      await sendReplacement(session, prompt)
    },
  },
  {
    name: 'edit',
    summary: 'Edit the last message and send it again',
    run: async (session) => {
      const prompt = requireLastPrompt(session)
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
      const { partialReply } = session
      // If the person stops the search, nothing is sent either.
      let isDone = partialReply !== undefined
      if (partialReply) {
        await session.stoppable(async (signal) => {
          isDone = await recover(session, partialReply, signal)
        })
      }
      if (isDone) return
      requireLastPrompt(session)
      if (!partialReply) session.output.note('The last reply seems complete. Asking for more.')
      const prompt = partialReply ? continueExactly : continueFromEnd
      session.output.showPrompt(prompt)
      await sendPrompt(session, prompt)
    },
  },
  {
    name: 'copy',
    argument: '[N|last|all]',
    summary: 'Copy the last reply, or only its Nth code block, to the clipboard',
    candidates: ({ conversation }) => {
      const blocks = findCodeBlocks(conversation.lastReply ?? '')
      return blocks.length === 0 ? [] : [...blocks.map((_, index) => `${index + 1}`), 'last', 'all']
    },
    run: async (session, argument) => {
      const reply = requireLastReply(session)
      const how = await copyText(argument === '' ? reply : codeOf(reply, argument), session.options)
      session.output.note(how)
    },
  },
  {
    name: 'save',
    argument: 'FILE',
    summary: 'Save the last reply to a new file',
    takesPath: true,
    run: async (session, path) => {
      const reply = requireLastReply(session)
      session.output.note(
        `Saved to ${await saveText(path, reply.endsWith('\n') ? reply : `${reply}\n`, session.options)}`,
      )
    },
  },
]

function requireLastPrompt({ conversation }: Session): string {
  const { lastPrompt } = conversation
  if (lastPrompt === undefined) throw new Failure('usage', 'No message has been sent yet')
  return lastPrompt
}

function requireLastReply({ conversation }: Session): string {
  const { lastReply } = conversation
  if (lastReply === undefined) throw new Failure('usage', 'There is no reply yet')
  return lastReply
}

/** @throws Failure if the argument selects no code block of the reply */
function codeOf(reply: string, argument: string): string {
  const selection = readCodeSelection(argument)
  const hint = 'Copy the whole reply with: /copy'
  if (selection === undefined) {
    throw new Failure('usage', `"${argument}" is not the number of a code block, last, or all`, { hint })
  }
  try {
    return selectCode(reply, selection)
  } catch (error) {
    throw error instanceof Failure ? error.reworded(error.message, { hint }) : error
  }
}
