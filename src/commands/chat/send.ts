import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import { continueContext, rememberContext } from '../../cli/continue-context.ts'
import { textFlag } from '../../cli/flag-types.ts'
import { demandText, readText } from '../../cli/input/read-text.ts'
import { showStream } from '../../cli/output/show-stream.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { sendView } from '../../view/chat.ts'

export default class ChatSend extends BaseCommand {
  static override summary = 'Send one message and print the answer.'
  static override description =
    'The text is MESSAGE, stdin, or both with a blank line between. The service keeps the conversation: go on with --context or --continue.'
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
      summary: 'Print the answer as it comes; the default on a terminal.',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatSend, sendView)
    const showsText = context.output.showsText(sendView)
    const streams = flags.stream ?? (showsText && process.stdout.isTTY === true)
    if (streams) context.output.checkStreamable(sendView)
    const message = demandText(await readText(args.message, context), 'MESSAGE')
    const contextId = flags.continue ? continueContext(context) : flags.context
    const model = context.options.model.value
    const request = {
      message,
      ...(contextId === undefined ? {} : { context_id: contextId }),
      ...(model === undefined ? {} : { model }),
    }
    const client = await context.connect()
    if (streams) {
      const end = await showStream(await client.chat.stream(request), context.output, showsText)
      await rememberContext(context, end.contextId ?? contextId)
      if (end.failure) throw end.failure
      return
    }
    const answer = await client.chat.send(request)
    await context.show(sendView, answer)
    await rememberContext(context, answer.body?.context_id ?? contextId)
  }
}
