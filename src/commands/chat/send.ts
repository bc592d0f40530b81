import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { continueContext, rememberContext } from '../../cli/continue-context.ts'
import { streamFormatFlag, textFlag } from '../../cli/flag-types.ts'
import { demandText, readText } from '../../cli/input/read-text.ts'
import { showStream } from '../../cli/output/show-stream.ts'
import { calls } from '../../cli/requests.ts'
import { dryRunFlag, replyTimeoutFlag } from '../../cli/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { sendView, streamEventView } from '../../view/chat.ts'

export default class ChatSend extends BaseCommand {
  static override summary = 'Send one message and print the answer.'
  static override description =
    'The text is MESSAGE, stdin, or both with a blank line between. The service keeps the conversation: go on with --context or --continue.'
  static override requests = calls('sendMessage')
  static override view = sendView
  static override examples = [
    '<%= config.bin %> chat send "Hello"',
    '<%= config.bin %> chat send --continue "And in one sentence?"',
    '$ git diff | <%= config.bin %> chat send "Review this change"',
  ]
  static override args = {
    message: Args.string({ description: 'What to say; - reads stdin.', ignoreStdin: true }),
  }
  static override flags = {
    model: textFlag({ char: 'm', helpValue: '<id>', summary: '[env: CHATCTL_MODEL] Model that answers.' }),
    context: textFlag({
      char: 'c',
      helpValue: '<id>',
      summary: 'Conversation to go on with.',
      exclusive: ['continue'],
    }),
    continue: Flags.boolean({ summary: 'Go on with the last conversation of this profile.' }),
    stream: Flags.boolean({
      allowNo: true,
      summary: 'Print the reply as it comes (default on a terminal); --no-stream requests it in one piece.',
    }),
    'stream-format': streamFormatFlag({
      summary: 'auto, sse, ndjson, json, json-seq or text: its form, if misread; implies --stream.',
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
      throw new Failure('usage', '--stream-format and --no-stream contradict each other')
    }
    const streams =
      flags.stream ?? (format !== undefined || (output.showsText(sendView) && process.stdout.isTTY === true))
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
        const answer = await (asksForWhole
          ? client.chat.send(request)
          : client.chat.collect(request, { onContext }))
        answeredIn = answer.body?.context_id ?? answeredIn ?? contextId
        await context.show(sendView, answer)
      }
    } finally {
      await rememberContext(context, answeredIn)
    }
  }
}

/** Elsewhere `-c` goes on with the last conversation, and what follows it is the message. */
function demandMessage(text: string, contextId: string | undefined): string {
  if (text.trim() !== '' || contextId === undefined) return demandText(text, 'MESSAGE')
  throw new Failure('usage', 'MESSAGE is missing or empty', {
    hint: `-c is --context, and took "${contextId}". To go on with the last conversation: --continue`,
  })
}
