import * as Flags from '@oclif/core/flags'
import type { ProfileNameOf, Transcript } from '../../chat/transcript/transcript.ts'
import type { Context } from '../../cli/context/context.ts'
import { argument } from '../../cli/flags/flag-types.ts'
import { sharedFlags } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { Failure } from '../../contract/failure.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { sendView, transcriptView } from '../../view/chat.ts'
import { chooseSession, findSession } from './choose-session.ts'
import { ReplyPrinter, replyFlags } from './show-reply.ts'

const forms = ['text', 'markdown', 'html', 'json', 'jsonl'] as const

export default class ChatShow extends LocalCommand {
  static override summary = 'Print the transcript of a chat session'
  static override description =
    'The transcript is read from this machine; no request is sent. jsonl contains the same events as chat send --stream --json.'
  static override completes = { id: 'session' } as const
  static override examples = LocalCommand.toExamples({
    'Print a session': 'chatctl chat show s20261121',
    'Save a session as Markdown': 'chatctl chat show "trip to Rome" -o markdown > trip.md',
    'Print the last reply again': 'chatctl chat show --last --reply',
    'Print its first code block': 'chatctl chat show --last -x',
    'Print the events of a session': 'chatctl chat show s20261121 -o jsonl',
  })
  static override args = { id: argument('ID, start of an ID, or name of the session (default: choose one)') }
  static override flags = {
    last: Flags.boolean({ summary: 'Print the conversation that this profile used last' }),
    reply: Flags.boolean({ summary: 'Print only the last reply', exclusive: ['extract', 'json', 'output'] }),
    extract: {
      ...replyFlags.extract,
      summary: 'Print only the Nth code block of the last reply (default: 1)',
    },
    reasoning: Flags.boolean({ summary: 'Include the reasoning of the model in text, markdown, and html' }),
    output: {
      ...sharedFlags.output,
      summary: 'Output format: text, markdown, html, json, or jsonl (default: text)',
    },
  }

  static override otherViews = { '--json': transcriptView, '--reply': sendView }
  static override documentFormats = forms

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatShow)
    const { readTranscript } = await import('../../chat/transcript/read-transcript.ts')
    const { renderTranscript } = await import('../../chat/transcript/render-transcript.ts')
    const needsReply = flags.reply || flags.extract !== undefined
    const transcript = readTranscript(await findPath(args.id, flags.last, context, needsReply))
    if (needsReply) {
      const { Conversation } = await import('../../chat/conversation.ts')
      const response = Conversation.ofTranscript(transcript).lastReply
      if (response === undefined) throw new Failure('not_found', `Session ${transcript.id} has no reply`)
      const wholeReply = ['chat', 'show', transcript.id, '--reply']
      const printer = new ReplyPrinter(context, sendView, { raw: false, extract: flags.extract, wholeReply })
      return printer.show({ body: { response }, status: 200, headers: {}, faults: [] })
    }
    const form = forms.find((known) => known === context.options.output.value) ?? 'text'
    const parts =
      form === 'html'
        ? renderPage(transcript, context.profileNameOf, flags.reasoning)
        : renderTranscript(transcript, form, context.profileNameOf, flags.reasoning)
    const { streams } = context
    // At the speed at which it is read; it cannot steer a terminal.
    for await (const part of parts) await streams.writeData(streams.isShown ? stripControls(part) : part)
  }
}

/** @returns the path of the transcript that the command line names */
async function findPath(id: string | undefined, isLast: boolean, context: Context, needsReply: boolean) {
  if (id !== undefined && isLast) throw new Failure('usage', '--last and ID cannot be used together')
  const { directories } = context
  if (id !== undefined) return findSession(context, id)
  if (!isLast)
    return chooseSession(context, 'Session to show:', 'Show the last one with --last, or list them')
  const { findLastConversation } = await import('../../chat/last-conversation.ts')
  const last = findLastConversation(directories, context.contextOwner(), { needsReply, isRecorded: false })
  if (last?.begin.path !== undefined) return last.begin.path
  throw new Failure('not_found', 'This machine has no transcript of the last conversation of this profile', {
    hint: 'List all sessions with: chatctl chat sessions --all',
  })
}

/** A session as the same page as an export of the history. */
async function* renderPage(
  transcript: Transcript,
  nameOf: ProfileNameOf,
  hasReasoning: boolean,
): AsyncGenerator<string> {
  const { htmlDocument } = await import('../../history/html-document.ts')
  const { messagesOf, titleOf } = await import('../../chat/transcript/render-transcript.ts')
  yield htmlDocument.head(titleOf(transcript, nameOf))
  for (const message of messagesOf(transcript, hasReasoning)) yield htmlDocument.message(message)
  yield htmlDocument.tail()
}
