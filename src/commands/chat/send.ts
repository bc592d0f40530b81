import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { demandNoParameters, promptFlags } from '../../cli/chat/apply-prompt.ts'
import { fileFlags } from '../../cli/chat/file-flags.ts'
import { offerModelServer } from '../../cli/chat/offer-model-server.ts'
import { readMessage } from '../../cli/chat/read-message.ts'
import { replyFlags } from '../../cli/chat/reply-flags.ts'
import { ReplyPrinter } from '../../cli/chat/show-reply.ts'
import { continueContext, rememberContext } from '../../cli/continue-context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { streamFormatFlag, textFlag } from '../../cli/flag-types.ts'
import { dryRunFlag, replyTimeoutFlag } from '../../cli/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { sendView, streamEventView } from '../../view/chat.ts'

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
    {
      description: 'Review a change, with a file as context',
      command: 'git diff | chatctl chat send "Review this change" -f CONTRIBUTING.md',
    },
  ]
  static override args = {
    message: Args.string({
      description:
        'Text to send. Text from a pipe is added after it. Without MESSAGE, or with -, the text from stdin is the message. With -f, MESSAGE comes before it, or last in quotes.',
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
    ...promptFlags,
    stream: Flags.boolean({
      allowNo: true,
      summary:
        'Print the reply while it arrives (default in a terminal); --no-stream requests it in one piece',
    }),
    'stream-format': streamFormatFlag({
      summary: 'Format: auto, sse, ndjson, json, json-seq, or text; implies --stream (default: auto)',
    }),
    ...fileFlags,
    ...replyFlags,
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
    const { extract } = flags
    if (extract !== undefined && flags.stream) {
      throw new Failure('usage', '--stream and --extract cannot be used together')
    }
    const streams =
      flags.stream ??
      (format !== undefined ||
        extract !== undefined ||
        (output.showsText(sendView) && context.streams.isShown))
    output.checkFields(streams ? streamEventView : sendView)
    const asText = streams && (extract !== undefined || output.streamsText(sendView))
    const line = { command: 'chat send', argv: this.argv, argument: args.message, flags }
    const { message, model, ...parameters } = await readMessage(line, context)
    demandNoParameters(parameters, flags)
    const contextId = flags.continue ? continueContext(context) : flags.context
    const request = {
      message,
      ...(contextId === undefined ? {} : { context_id: contextId }),
      ...(model === undefined ? {} : { model }),
    }
    await offerModelServer(context)
    const client = await context.connect()
    const reply = new ReplyPrinter(context, sendView, flags)
    let answeredIn: string | undefined
    const onContext = (id: string) => {
      answeredIn = id
    }
    try {
      reply.begin()
      if (streams) {
        const events = await client.chat.stream(request, { format })
        answeredIn = contextId
        const end = await reply.showEvents(events, { asText, onContext })
        if (end.failure) throw end.failure
      } else {
        const asksForWhole = flags.stream === false
        const response = await (asksForWhole
          ? client.chat.send(request)
          : client.chat.collect(request, { onContext }))
        answeredIn = response.body?.context_id ?? answeredIn ?? contextId
        await reply.show(response)
      }
    } finally {
      reply.end()
      await rememberContext(context, answeredIn)
    }
  }
}
