import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { continueContext, rememberContext } from '../../cli/continue-context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { streamFormatFlag, textFlag } from '../../cli/flag-types.ts'
import { demandText, readText } from '../../cli/input/read-text.ts'
import { unlessInterrupted } from '../../cli/interruption.ts'
import type { Output } from '../../cli/output/output.ts'
import { dryRunFlag, replyTimeoutFlag } from '../../cli/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import type { StreamEnd, StreamEvent } from '../../contract/stream-event.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { sendView, streamEventView } from '../../view/chat.ts'
import { describeStreamEvent } from '../../view/stream-event.ts'

export default class ChatSend extends BaseCommand {
  static override summary = 'Send one message and print the reply'
  static override description =
    'The service stores the conversation. The next command can continue it with --continue, or with --context.'
  static override requests = calls('sendMessage')
  static override view = sendView
  static override examples = [
    { description: 'Ask a question', command: 'chatctl chat send "What is a write-ahead log?"' },
    {
      description: 'Continue the last conversation',
      command: 'chatctl chat send --continue "In one sentence?"',
    },
    { description: 'Review a change', command: 'git diff | chatctl chat send "Review this change"' },
  ]
  static override args = {
    message: Args.string({
      description:
        'Text to send. Text from a pipe is added after it. Without MESSAGE, or with -, the text from stdin is the message.',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    model: textFlag({ char: 'm', helpValue: 'ID', summary: "Model to use (default: the service's choice)" }),
    context: textFlag({
      char: 'c',
      helpValue: 'ID',
      summary: 'Conversation to continue',
      exclusive: ['continue'],
    }),
    continue: Flags.boolean({ summary: 'Continue the last conversation of this profile' }),
    stream: Flags.boolean({
      allowNo: true,
      summary:
        'Print the reply while it arrives (default in a terminal); --no-stream requests it in one piece',
    }),
    'stream-format': streamFormatFlag({
      summary:
        'Format of the stream: auto, sse, ndjson, json, json-seq, or text; implies --stream (default: auto)',
    }),
    'dry-run': dryRunFlag,
    timeout: replyTimeoutFlag,
  }
  protected override readonly takesText = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatSend)
    const { output } = context
    const format = flags['stream-format']
    if (format && flags.stream === false) {
      throw new Failure('usage', '--stream-format and --no-stream cannot be used together')
    }
    const streams =
      flags.stream ?? (format !== undefined || (output.showsText(sendView) && context.streams.isShown))
    output.checkFields(streams ? streamEventView : sendView)
    const asText = streams && output.streamsText(sendView)
    const message = demandMessage(await readText(args.message, context), flags.context)
    const contextId = flags.continue ? continueContext(context) : flags.context
    const model = context.options.model.value
    const request = {
      message,
      ...(contextId === undefined ? {} : { context_id: contextId }),
      ...(model === undefined ? {} : { model }),
    }
    const client = await context.connect()
    let answeredIn: string | undefined
    const onContext = (id: string) => {
      answeredIn = id
    }
    try {
      if (streams) {
        const events = await client.chat.stream(request, { format })
        answeredIn = contextId
        const end = await showStream(events, { output, asText, onContext })
        if (end.failure) throw end.failure
      } else {
        const asksForWhole = flags.stream === false
        const response = await (asksForWhole
          ? client.chat.send(request)
          : client.chat.collect(request, { onContext }))
        answeredIn = response.body?.context_id ?? answeredIn ?? contextId
        await context.show(sendView, response)
      }
    } finally {
      await rememberContext(context, answeredIn)
    }
  }
}

/** In other tools, `-c` continues the last conversation, and the next word is the message. */
function demandMessage(text: string, contextId: string | undefined): string {
  if (text.trim() !== '' || contextId === undefined) return demandText(text, 'MESSAGE')
  throw new Failure('usage', 'MESSAGE is missing or empty', {
    hint: `-c is --context, and took "${contextId}". Continue the last conversation with: --continue`,
  })
}

/**
 * Prints a reply while it arrives: its text, or one JSON event per line.
 *
 * @param onContext receives the ID of the conversation as soon as it is known, because the stream may not end
 * @returns how the stream ended; the part of a truncated reply that arrived has been printed
 */
async function showStream(
  events: AsyncIterable<StreamEvent>,
  { output, asText, onContext }: { output: Output; asText: boolean; onContext(id: string): void },
): Promise<StreamEnd> {
  const { streams } = output
  const { signal } = streams
  const { stdout } = streams.host
  let end: StreamEnd | undefined
  let printed = ''
  try {
    for await (const event of events) {
      if ('contextId' in event && event.contextId !== undefined) onContext(event.contextId)
      if (event.type === 'end') end = event
      if (!asText) await unlessInterrupted(output.showEvent(describeStreamEvent(event)), signal)
      else if (event.type === 'delta') {
        const text = streams.isShown ? stripControls(event.text) : event.text
        printed = text.at(-1) ?? printed
        // The reader may have stopped.
        await unlessInterrupted(streams.writeData(text), signal)
      }
    }
  } finally {
    // The shell prompt starts on a new line, also after an interrupted reply. An empty reply adds no line.
    const isOpen = end?.complete ? printed !== '\n' : !['', '\n'].includes(printed)
    const isStuck = signal.aborted && stdout.writableLength > 0
    if (asText && isOpen && !isStuck) await streams.writeData('\n')
  }
  if (!end) throw new Error('the stream had no end event')
  return end
}
