import { Failure } from '../../contract/failure.ts'
import { splitFiles } from '../../contract/resources/file-block.ts'
import { findCodeBlocks, selectCode } from '../../terminal/markdown/code-blocks.ts'
import { readCodeSelection } from '../../terminal/markdown/code-selection.ts'
import { continueExactly, continueFromEnd } from '../conversation.ts'
import { recover } from '../reply/recover-reply.ts'
import { sendPrompt, sendReplacement } from '../reply/send-prompt.ts'
import type { Session, SlashCommand } from '../session.ts'
import { copyText, saveText } from './copy-and-save.ts'

export const replyCommands: readonly SlashCommand[] = [
  {
    name: 'retry',
    summary: 'Send the last message again and replace its reply',
    run: async (session) => {
      const { unsent } = session
      if (unsent) {
        session.replacesLastPrompt = unsent.replacesLastPrompt
        session.attachments.forget(unsent.prompt)
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
      const { files } = splitFiles(prompt)
      session.keyboard.input.setText(session.entryOf(prompt))
      session.replacesLastPrompt = true
      session.attachments.edit(files)
      session.output.showFiles(files)
      session.output.note('Press Enter to replace the last message, or Ctrl-C to cancel.')
    },
  },
  {
    name: 'continue',
    summary: 'Get the rest of an incomplete reply',
    run: async (session) => {
      const { partialReply } = session
      // If the user stops the search, nothing is sent either.
      let isDone = partialReply?.hasEnded === false
      if (partialReply && isDone) {
        await session.stoppable(async (signal) => {
          isDone = await recover(session, partialReply, 'asking the model for the rest', signal)
        })
      }
      if (isDone) return
      if (partialReply?.part === '') {
        throw new Failure('usage', 'No part of the last reply has arrived', {
          hint: 'Send the message again with: /retry',
        })
      }
      requireLastPrompt(session)
      if (!partialReply) session.output.note('The last reply has ended. Asking for more.')
      const prompt = partialReply ? continueExactly : continueFromEnd
      session.output.showPrompt(prompt)
      await sendPrompt(session, prompt)
    },
  },
  {
    name: 'reasoning',
    argument: '[on|off]',
    summary: 'Show or hide the reasoning before the next replies',
    candidates: () => ['on', 'off'],
    run: (session, choice) => {
      if (choice !== '') session.showsReasoning = readSwitch(choice)
      const state = session.showsReasoning ? 'shown before each reply, if the model sends it' : 'hidden'
      session.output.note(`Reasoning is ${state}`)
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
      const how = await copyText(argument === '' ? reply : codeOf(reply, argument), {
        ...session.options,
        env: session.options.run.env,
      })
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
        `Saved to ${await saveText(path, reply.endsWith('\n') ? reply : `${reply}\n`, session.options.run)}`,
      )
    },
  },
]

function readSwitch(choice: string): boolean {
  if (choice === 'on' || choice === 'off') return choice === 'on'
  throw new Failure('usage', `Invalid value "${choice}"`, { hint: 'Use /reasoning on, or /reasoning off.' })
}

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
