import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, replyTimeoutFlag } from '../../cli/flags/shared-flags.ts'
import { readMessages } from '../../cli/input/read-document.ts'
import type { Failure } from '../../contract/failure.ts'
import { readWholeReply } from '../../contract/reply/assembly.ts'
import { requestDefaults } from '../../contract/request-defaults.ts'
import { completionView } from '../../view/chat.ts'
import { messageArgument, messageFlags, readMessage } from './message.ts'
import { offerModelServer } from './offer-model-server.ts'
import { ReplyPrinter, replyFlags } from './show-reply.ts'
import { checkWhole } from './whole-reply.ts'

export default class ChatComplete extends BaseCommand {
  static override summary = 'Complete a list of messages without storing them'
  static override description =
    'The request is POST /v1/chat/completions: the reply is not streamed, and nothing is stored. The messages are sent in this order: --system, --messages, MESSAGE. With --prompt, MESSAGE becomes part of that prompt: see chat prompts.'
  static override requests = calls('createCompletion')
  static override view = completionView
  static override examples = BaseCommand.toExamples({
    'Complete one message, with a system message':
      'chatctl chat complete --system "Answer in one word" "Capital of Peru?"',
    'Continue a conversation from a file':
      'chatctl chat complete --messages conversation.yaml --max-tokens 200',
    'Use a prompt of the library':
      'chatctl chat complete --prompt translate --var language=French "Good night"',
  })
  static override args = { message: messageArgument }
  static override flags = {
    ...messageFlags,
    messages: textFlag({ helpValue: 'FILE', summary: 'Earlier messages, as YAML, JSON, or JSONL' }),
    ...replyFlags,
    'dry-run': dryRunFlag,
    timeout: {
      ...replyTimeoutFlag,
      summary: `Timeout of one attempt (default: ${requestDefaults.replyTimeout / 60_000}m)`,
    },
  }
  protected override readonly takesText = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatComplete)
    const earlier = flags.messages === undefined ? [] : await readMessages(flags.messages, context)
    const line = { command: 'chat complete', argv: this.argv, argument: args.message, flags }
    const { message, model, system, temperature, maxTokens } = await readMessage(
      line,
      context,
      earlier.length > 0,
    )
    const request = {
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
        ...earlier,
        ...(message === '' ? [] : [{ role: 'user' as const, content: message }]),
      ],
      temperature,
      max_tokens: maxTokens,
    }
    await offerModelServer(context)
    const client = await context.connect()
    let fault: Failure | undefined
    const reply = new ReplyPrinter(context, completionView, { ...flags, findFault: () => fault })
    reply.begin()
    const response = await client.chat.complete(request).finally(() => reply.end())
    const end = readWholeReply(response.body)
    fault = checkWhole(context, { end, hasReasoning: end.reasoning !== '', maxTokens, isKept: false })
    await reply.show(response)
    if (fault) throw fault
  }
}
