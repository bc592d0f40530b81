import * as Flags from '@oclif/core/flags'
import type { Parameters } from '../../chat/conversation.ts'
import type { ConversationStart } from '../../chat/session-options.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { hintOf, sentences } from '../../cli/errors/hints.ts'
import { argument, streamFormatFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, noSaveFlag, replyTimeoutFlag } from '../../cli/flags/shared-flags.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { Failure } from '../../contract/failure.ts'
import { completionView, sendView, streamEventView } from '../../view/chat.ts'
import { chooseBeginning, rememberContext } from './choose-beginning.ts'
import { fileFlags, modelFlag, parameterFlags, promptFlags, readMessage, systemFlag } from './message.ts'
import { offerModelServer } from './offer-model-server.ts'
import { emptyReplyNotice, ReplyPrinter, replyFlags, tokenLimitNotice } from './show-reply.ts'

export default class ChatSend extends BaseCommand {
  static override summary = 'Send one message and print the reply'
  static override description =
    'The service stores the conversation. With --system, --temperature, --max-tokens, or a prompt that sets them, the request is POST /v1/chat/completions, and only this machine stores it. --stream-format implies --stream. Its default is auto.'
  static override requests = calls('sendMessage', 'createCompletion', 'listHistory')
  static override view = sendView
  static override examples = [
    { description: 'Ask a question', command: 'chatctl chat send "What is a write-ahead log?"' },
    {
      description: 'Review a change, with a file attached',
      command: 'git diff | chatctl chat send "Review this change" -f CONTRIBUTING.md',
    },
  ]
  static override args = {
    message: argument(
      'Text to send, followed by text from a pipe. Omit it, or use -, to send only stdin. With -f, put it first, or last in quotes.',
    ),
  }
  static override flags = {
    model: modelFlag,
    context: textFlag({
      helpValue: 'ID',
      summary: 'Conversation to continue (its context_id)',
      exclusive: ['continue'],
    }),
    continue: Flags.boolean({ char: 'c', summary: 'Continue the last conversation of this profile' }),
    ...promptFlags,
    system: systemFlag,
    ...parameterFlags,
    'no-save': noSaveFlag,
    stream: Flags.boolean({
      allowNo: true,
      summary: 'Print the reply while it arrives (default in a terminal); --no-stream requests it as a whole',
    }),
    'stream-format': streamFormatFlag({
      summary: 'Format of a stream: auto, sse, ndjson, json, text',
    }),
    ...fileFlags,
    ...replyFlags,
    'dry-run': dryRunFlag,
    timeout: replyTimeoutFlag,
  }
  protected override readonly takesText = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(
      ChatSend,
      ({ continue: isContinued, prompt, system, temperature, 'max-tokens': maxTokens }) => {
        if (isContinued || prompt !== undefined) return undefined
        const isMessage = system === undefined && temperature === undefined && maxTokens === undefined
        return isMessage ? sendView : completionView
      },
    )
    const { output } = context
    const format = flags['stream-format']
    if (format && flags.stream === false) {
      throw new Failure('usage', '--stream-format and --no-stream cannot be used together')
    }
    const { extract } = flags
    if (extract !== undefined && flags.stream) {
      throw new Failure('usage', '--stream and --extract cannot be used together')
    }
    const begin = await chooseBeginning(flags, context, true)
    const line = { command: 'chat send', argv: this.argv, argument: args.message, flags }
    const { message, model, ...parameters } = await readMessage(line, context)
    const isCompletion = begin.kind === 'transcript' || Object.keys(parameters).length > 0
    const wantsStream = flags.stream ?? format !== undefined
    const view = isCompletion ? completionView : sendView
    const isShown = output.showsText(view) && context.streams.isShown
    const streams = wantsStream || (flags.stream === undefined && (isShown || extract !== undefined))
    output.checkFields(streams ? streamEventView : view)
    const asText = streams && (extract !== undefined || output.streamsText(view))
    if (streams || (!isCompletion && flags.stream !== false)) context.host.expectStreamedReply()
    await offerModelServer(context)
    const { exchange, close } = await openExchange(context, { begin, parameters, model })
    const reply = new ReplyPrinter(context, view, flags)
    try {
      reply.begin()
      if (streams) {
        const end = await reply.showEvents(exchange.stream(message, format), { asText })
        if (isCompletion && end.isWholeBody && extract === undefined)
          output.progress('The reply was not streamed: this service does not stream completions.')
        if (end.failure) throw end.failure
      } else await reply.show(await exchange.send(message, { isStreamed: flags.stream !== false }))
    } catch (error) {
      throw explainRefusal(error, flags)
    } finally {
      reply.end()
      await close()
    }
  }
}

/** A service without the endpoint for completions says only that it does not know the path. */
function explainRefusal(error: unknown, flags: Readonly<Record<string, unknown>>): unknown {
  if (!(error instanceof Failure && error.request?.url.endsWith(endpoints.createCompletion.path)))
    return error
  const isUnknownPath = [404, 405, 501].includes(error.status ?? 0)
  if (!isUnknownPath || /model/i.test(`${error.code} ${error.message}`)) return error
  const names = ['system', 'temperature', 'max-tokens', 'prompt'].filter((name) => flags[name] !== undefined)
  const given = names.map((name) => `--${name}`).join(', ')
  return error.reworded('This service does not take a system message, a temperature, or a token limit', {
    hint:
      given === '' ? 'Start another conversation: omit --continue.' : `Send the message without ${given}.`,
  })
}

/** @returns the exchange, and the function that ends it: it remembers the conversation, and warns if nothing was recorded */
async function openExchange(
  context: Context,
  chosen: { begin: ConversationStart; parameters: Parameters; model: string | undefined },
) {
  const { options, dryRun, signal, host, output } = context
  const isRecorded = options.save.value === 'on' && !dryRun
  let lost: Failure | undefined
  const [client, { openExchange: open }] = await Promise.all([
    context.connect(),
    import('../../chat/exchange.ts'),
  ])
  const exchange = await open({
    client,
    ...chosen,
    owner: context.contextOwner(),
    isModelExplicit: options.model.source === 'flag',
    sessionsDirectory: isRecorded ? () => context.directories.sessions : undefined,
    onLost: (failure) => {
      lost ??= failure
    },
    clock: host.clock,
    signal,
  })
  const withdrawCleanup = host.onExit(() => exchange.close())
  const close = async (): Promise<void> => {
    withdrawCleanup()
    exchange.close()
    await rememberContext(context, exchange.contextId)
    if (exchange.emptiness) output.progress(emptyReplyNotice(exchange.emptiness))
    if (exchange.isCutShort) {
      const isKept = exchange.contextId !== undefined || (isRecorded && !lost)
      const command = commandFor(context, 'chat', 'send', '--continue', 'Continue')
      output.progress(`${tokenLimitNotice}${isKept ? ` Continue it with: ${command}` : ''}`)
    }
    if (lost) {
      const words = sentences([lost.message, ...[hintOf(lost)].filter((hint) => hint !== undefined)])
      await output.warn(`This machine does not record the message and its reply: ${words}`)
    }
  }
  return { exchange, close }
}
