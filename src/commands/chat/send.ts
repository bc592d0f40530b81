import * as Flags from '@oclif/core/flags'
import type { OpenOptions } from '../../chat/conversation-start.ts'
import type { Exchange } from '../../chat/exchange.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { hintOf, sentences } from '../../cli/errors/hints.ts'
import { streamFormatFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, noSaveFlag, replyTimeoutFlag } from '../../cli/flags/shared-flags.ts'
import { isGiven } from '../../config/resolve-options.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { Failure } from '../../contract/failure.ts'
import { batchView, completionView, sendView, streamEventView } from '../../view/chat.ts'
import { batchFlags } from './batch-flags.ts'
import { chooseBeginning, rememberContext } from './choose-beginning.ts'
import { continueFlags, messageArgument, messageFlags, readMessage, schemaFlags } from './message.ts'
import { offerModelServer } from './offer-model-server.ts'
import { ReplyPrinter, replyFlags } from './show-reply.ts'
import type { ReplySchema } from './structured/json-schema.ts'
import { checkWhole } from './whole-reply.ts'

export default class ChatSend extends BaseCommand {
  static override summary = 'Send one message and print the reply'
  static override description =
    'The service stores the conversation. With --system, --temperature, --max-tokens, or a prompt that sets them, the request is POST /v1/chat/completions, and only this machine stores it. With --schema, another message names the faults of a reply that does not fit. --stream-format implies --stream. Its default is auto.\n\nWith --each, the message, the files, the system message, and the variables of --prompt may contain {{COLUMN}}. Each row is a conversation that this machine does not record. The whole file is checked before anything is sent. To resume an interrupted batch, run the same command again.'
  static override requests = calls('sendMessage', 'createCompletion', 'listHistory')
  static override view = sendView
  static override otherViews = {
    '--each': batchView,
    '--stream': streamEventView,
    '--system': completionView,
  }
  static override examples = BaseCommand.toExamples({
    'Ask a question': 'chatctl chat send "What is a write-ahead log?"',
    'Review a change, with a file attached':
      'git diff | chatctl chat send "Review this change" -f CONTRIBUTING.md',
    'Summarize the column "text" of each row of a file':
      'chatctl chat send "Summarize: {{text}}" --each rows.csv --results replies.jsonl',
  })
  static override args = { message: messageArgument }
  static override flags = {
    ...messageFlags,
    ...continueFlags,
    fork: Flags.boolean({
      summary: 'With --continue or --context: continue in a copy, which this machine stores',
      relationships: [{ type: 'some', flags: ['continue', 'context'] }],
    }),
    'no-save': noSaveFlag,
    stream: Flags.boolean({
      allowNo: true,
      summary: 'Print the reply while it arrives (default in a terminal); --no-stream requests it as a whole',
    }),
    'stream-format': streamFormatFlag({ summary: 'Format of a stream: auto, sse, ndjson, json, text' }),
    ...replyFlags,
    ...schemaFlags,
    ...batchFlags,
    'dry-run': dryRunFlag,
    timeout: replyTimeoutFlag,
  }
  protected override readonly takesText = true

  async run(): Promise<void> {
    // The view of a single message depends on the conversation.
    const { args, flags, context } = await this.start(ChatSend, ({ each }) =>
      each === undefined ? undefined : batchView,
    )
    const { output } = context
    const format = flags['stream-format']
    if (format && flags.stream === false) {
      throw new Failure('usage', '--stream-format and --no-stream cannot be used together')
    }
    const { extract } = flags
    if (flags.stream && (extract ?? flags.schema) !== undefined) {
      const other = extract === undefined ? 'schema' : 'extract'
      throw new Failure('usage', `--stream and --${other} cannot be used together`)
    }
    const line = { command: 'chat send', argv: this.argv, argument: args.message, flags }
    if (flags.each !== undefined) return (await import('./each.ts')).sendEach(context, line, flags)
    const { readSchema } = flags.schema ? await import('./structured/json-schema.ts') : {}
    const schema = readSchema?.(flags.schema ?? '', context)
    const fork = flags.fork || undefined
    const begin = await chooseBeginning({ ...flags, fork }, context, true)
    const { message, model, ...parameters } = await readMessage(line, context)
    const isCompletion = fork || begin.kind === 'transcript' || Object.keys(parameters).length > 0
    const wantsStream = flags.stream ?? format !== undefined
    const view = isCompletion ? completionView : sendView
    const isShown = output.showsText(view) && context.streams.isShown
    const streams =
      !schema && (wantsStream || (flags.stream === undefined && (isShown || extract !== undefined)))
    output.checkFields(streams ? streamEventView : view)
    const asText = streams && (extract !== undefined || output.streamsText(view))
    if (streams || (!isCompletion && flags.stream !== false)) context.host.expectStreamedReply()
    await offerModelServer(context)
    const { exchange, close } = await openExchange(context, { begin, fork, parameters, model }, schema)
    const findFault = () => faultOf(exchange, context)
    const reply = new ReplyPrinter(context, view, { ...flags, findFault })
    try {
      reply.begin()
      const isStreamed = flags.stream !== false
      if (schema) {
        const { printValue } = await import('./structured/print-value.ts')
        const request = { message, schema, attempts: flags.attempts ?? 2, isStreamed }
        await printValue(exchange, request, context, reply, findFault)
      } else if (streams) {
        const end = await reply.showEvents(exchange.stream(message, format), { asText })
        if (isCompletion && end.isWholeBody && extract === undefined)
          output.progress('The reply was not streamed: this service does not stream completions.')
        if (end.failure) throw end.failure
      } else await reply.show(await exchange.send(message, { isStreamed }))
      const fault = schema ? undefined : findFault()
      if (fault) throw fault
    } catch (error) {
      exchange.close()
      throw await explain(error, exchange, context, flags)
    } finally {
      reply.end()
      await close()
    }
  }
}

/** If the service no longer has the conversation, the hint names a fork. */
async function explain(
  error: unknown,
  { conversation: { contextId }, isCompletion }: Exchange,
  context: Context,
  flags: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  if (isCompletion || contextId === undefined || !(error instanceof Failure && error.kind === 'not_found'))
    return explainRefusal(error, flags)
  const { isGone } = await import('../../chat/transcript/check-deliveries.ts')
  if (!(await isGone(context, await context.connect(), contextId))) return error
  const words = ['chat', 'send', '--context', contextId, '--fork', 'MESSAGE']
  const message = `The service no longer has the conversation ${contextId}. This machine has its messages`
  return error.reworded(message, { hint: `Continue in a copy with: ${commandFor(context, ...words)}` })
}

/** A service without the endpoint for completions says only that it does not know the path. */
function explainRefusal(error: unknown, flags: Readonly<Record<string, unknown>>): unknown {
  if (!(error instanceof Failure && error.request?.url.endsWith(endpoints.createCompletion.path)))
    return error
  const isUnknownPath = [404, 405, 501].includes(error.status ?? 0)
  if (!isUnknownPath || /model/i.test(`${error.code} ${error.message}`)) return error
  const names = ['system', 'temperature', 'max-tokens', 'prompt'].filter((name) => flags[name] !== undefined)
  const given = names.map((name) => `--${name}`).join(', ') || '--continue'
  const hint = `Send the message without ${given}.`
  return error.reworded('This service takes no system message, temperature, or token limit', { hint })
}

function faultOf(exchange: Exchange, context: Context): Failure | undefined {
  const { end, hasReasoning, conversation, contextId, recorder } = exchange
  if (!end) return undefined
  const isKept = contextId !== undefined || recorder.path !== undefined
  return checkWhole(context, { end, hasReasoning, maxTokens: conversation.parameters.maxTokens, isKept })
}

/** @returns the exchange, and the function that ends it: it remembers the conversation, and warns if nothing was recorded */
async function openExchange(
  context: Context,
  chosen: Pick<OpenOptions, 'begin' | 'fork' | 'parameters' | 'model'>,
  schema: ReplySchema | undefined,
) {
  const { options, dryRun, signal, host, output } = context
  let lost: Failure | undefined
  const [client, { openConversation }, { Exchange }] = await Promise.all([
    context.connect(),
    import('../../chat/open-conversation.ts'),
    import('../../chat/exchange.ts'),
  ])
  const { conversation, recorder } = await openConversation({
    ...chosen,
    ...{ run: context, client, signal, isShown: false },
    isRecorded: options.save.value === 'on' && !dryRun,
    isModelExplicit: isGiven(options.model),
    onLost: (failure) => {
      lost ??= failure
    },
  })
  // Another service may refuse an unknown field.
  if (context.target().kind === 'local') conversation.responseFormat = schema?.format
  const exchange = new Exchange({ client, conversation, recorder, clock: host.clock, signal })
  const withdrawCleanup = host.onExit(() => exchange.close())
  const close = async (): Promise<void> => {
    withdrawCleanup()
    exchange.close()
    if (recorder.path === undefined) await rememberContext(context, exchange.contextId)
    if (lost) {
      const words = sentences([lost.message, ...[hintOf(lost)].filter((hint) => hint !== undefined)])
      await output.warn(`This machine does not record the message and its reply: ${words}`)
    }
  }
  return { exchange, close }
}
