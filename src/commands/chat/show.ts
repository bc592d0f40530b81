import * as Flags from '@oclif/core/flags'
import type { ProfileNameOf, Transcript } from '../../chat/transcript/transcript.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { requiredArgument } from '../../cli/flags/flag-types.ts'
import { sharedFlags } from '../../cli/flags/shared-flags.ts'
import type { Streams } from '../../cli/output/streams.ts'
import { stripControls } from '../../terminal/strip-controls.ts'

const forms = ['text', 'markdown', 'html', 'json', 'jsonl'] as const

export default class ChatShow extends BaseCommand {
  static override summary = 'Print the transcript of a chat session'
  static override description =
    'The transcript is read from this machine; no request is sent. jsonl contains the same events as chat send --stream --json.'
  static override requests = localWork
  static override completes = { id: 'session' } as const
  static override examples = [
    { description: 'Print a session', command: 'chatctl chat show s20261121' },
    {
      description: 'Save a session as Markdown',
      command: 'chatctl chat show "trip to Rome" -o markdown > trip.md',
    },
    { description: 'Print the events of a session', command: 'chatctl chat show s20261121 -o jsonl' },
  ]
  static override args = {
    id: requiredArgument('ID, start of an ID, or name of the session'),
  }
  static override flags = {
    reasoning: Flags.boolean({ summary: 'Include the reasoning of the model in text, markdown, and html' }),
    output: {
      ...sharedFlags.output,
      summary: 'Output format: text, markdown, html, json, or jsonl (default: text)',
    },
  }

  static override documentFormats = forms

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatShow)
    const { findTranscript } = await import('../../chat/transcript/list-transcripts.ts')
    const { readTranscript } = await import('../../chat/transcript/read-transcript.ts')
    const { renderTranscript } = await import('../../chat/transcript/render-transcript.ts')
    const transcript = readTranscript(findTranscript(context.directories.sessions, args.id))
    const form = forms.find((known) => known === context.options.output.value) ?? 'text'
    const parts =
      form === 'html'
        ? renderPage(transcript, context.profileNameOf, flags.reasoning)
        : renderTranscript(transcript, form, context.profileNameOf, flags.reasoning)
    await showDocument(context.streams, parts)
  }
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

/** Writes a document part by part, at the speed at which it is read; it cannot steer a terminal. */
async function showDocument(
  streams: Streams,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  for await (const part of parts) await streams.writeData(streams.isShown ? stripControls(part) : part)
}
