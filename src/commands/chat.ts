import { join } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../cli/base-command.ts'
import { commandLine } from '../cli/command-line.ts'
import type { Context } from '../cli/context/context.ts'
import { calls } from '../cli/documented-requests.ts'
import { describeFailure } from '../cli/errors/describe-failure.ts'
import { argument, optionalTextFlag, streamFormatFlag } from '../cli/flags/flag-types.ts'
import { noSaveFlag, replyTimeoutFlag, sharedFlags } from '../cli/flags/shared-flags.ts'
import { SessionTerminal } from '../cli/input/session-terminal.ts'
import { namedFlags, readWords } from '../cli/line/read-line.ts'
import { linkerFor, loadSessionStyle, wantsColor } from '../cli/output/colors.ts'
import { readCommandIds } from '../cli/static-plugin.ts'
import { isGiven } from '../config/resolve-options.ts'
import { Failure } from '../contract/failure.ts'
import { describeModelServer } from '../contract/model-server-address.ts'
import { chooseBeginning, rememberContext } from './chat/choose-beginning.ts'
import { withSessionList } from './chat/choose-session.ts'
import { continueFlags, fileFlags, messageFlags, readSystem, systemFlag } from './chat/message.ts'
import { offerModelServer } from './chat/offer-model-server.ts'
import { searchHistory } from './history/search-history.ts'

export default class Chat extends BaseCommand {
  static override summary = 'Start a chat session'
  static override description =
    'Every message is recorded on this machine: see chat show. In the session, /help lists commands and keys. With --system, the requests are POST /v1/chat/completions, and only this machine stores the conversation. Such replies are streamed if the service can do that, as the embedded service can.'
  static override usage = ['chat [MESSAGE]', 'chat COMMAND']
  static override requests = calls('sendMessage', 'createCompletion', 'listHistory', 'listModels')
  static override examples = BaseCommand.toExamples({
    'Start a new session': 'chatctl chat',
    'Start with a question': 'chatctl chat "What is a write-ahead log?"',
    'Continue the last conversation': 'chatctl chat --continue',
    'Choose a session to resume': 'chatctl chat --resume',
  })
  static override args = { message: argument('First message. Before a single word, type --.') }
  static override flags = {
    model: messageFlags.model,
    context: { ...continueFlags.context, exclusive: ['continue', 'resume'] },
    continue: { ...continueFlags.continue, exclusive: ['resume'] },
    resume: optionalTextFlag({
      char: 'r',
      helpValue: '[SESSION]',
      summary: 'Session ID or name to resume (default: choose one)',
    }),
    fork: optionalTextFlag({
      helpValue: '[N]',
      summary: 'With --resume or --continue: continue in a copy, up to your message N (default: all)',
      relationships: [{ type: 'some', flags: ['resume', 'continue'] }],
    }),
    system: { ...systemFlag, summary: 'System message, or @FILE' },
    'no-save': noSaveFlag,
    'stream-format': streamFormatFlag(),
    'max-file-size': fileFlags['max-file-size'],
    plain: Flags.boolean({ summary: 'Print plain text without colors or cursor movement' }),
    // A session has only text output.
    output: { ...sharedFlags.output, hidden: true },
    json: { ...sharedFlags.json, hidden: true },
    fields: { ...sharedFlags.fields, hidden: true },
    jq: { ...sharedFlags.jq, hidden: true },
    timeout: replyTimeoutFlag,
  }
  static override documentFormats = ['text'] as const
  protected override readonly takesText = true

  async run(): Promise<void> {
    const { args: rest, isPastFlags } = readWords(this.argv, namedFlags({ ...Chat.baseFlags, ...Chat.flags }))
    // A mistyped command must not become a message, which costs a request.
    if (rest[0] !== undefined && !/\s/.test(rest[0].trim()) && !isPastFlags) {
      const { unknownCommand } = await import('../cli/errors/unknown-command.ts')
      const line = { path: ['chat'], leading: [], rest }
      throw unknownCommand(line, readCommandIds(this.streams.host.installation))
    }
    const { args, flags } = await this.parse(Chat)
    const { message } = args
    const { context } = await this.start(Chat)
    demandTerminal(context, flags['no-input'], { message, picks: flags.resume === true })
    if (flags.system === '-' || flags.system === '@-') {
      throw new Failure('usage', 'A chat session reads stdin itself, so --system cannot read it')
    }
    const isRecorded = context.options.save.value === 'on'
    const { env, directories, streams, host } = context
    const owner = context.contextOwner()
    // The session reads the keys, so nothing else can ask.
    const confirm = async (_: string, refusal?: Failure) => Promise.reject(refusal)
    const run: Context = Object.assign(Object.create(context), { confirm })
    host.expectStreamedReply()
    await offerModelServer(context)
    const { name, hasModelServer } = describeService(context)
    const { runSession } = await import('../chat/run-session.ts')
    await runSession({
      run,
      terminal: new SessionTerminal(streams, context.options.notify.value === 'on'),
      connect: (observe) => context.connect({ observe }),
      begin: await chooseBeginning(flags, context, false),
      fork: flags.fork,
      message,
      system: await readSystem(flags.system, context),
      isRecorded,
      profile: context.options.profile.value ?? owner.profile,
      serviceName: name,
      firstModelReplies: hasModelServer,
      model: context.options.model.value,
      aliases: context.options.aliases.value,
      isModelExplicit: isGiven(context.options.model),
      streamFormat: flags['stream-format'],
      isPlain: flags.plain,
      isQuiet: flags.quiet,
      style: flags.plain
        ? undefined
        : await loadSessionStyle(wantsColor(host.stdout, env, flags['no-color'])),
      link: flags.plain ? undefined : await linkerFor(host.stdout),
      platform: host.platform,
      maxFileBytes: flags['max-file-size'],
      inputHistoryPath: isRecorded ? join(directories.state, 'recall.jsonl') : undefined,
      editorCommand: env['VISUAL'] || env['EDITOR'] || undefined,
      resumeCommand: (id) => context.commandFor('chat', '--resume', id),
      rememberContext: (id) => rememberContext(context, id),
      search: (words) => searchHistory(run, { words }),
      withSessionList: (open, work) =>
        withSessionList(directories, { owner, isWanted: ({ id }) => id !== open }, work),
      pickSession: (list) => context.prompter.pick('Session to resume:', list),
      describeFailure: (failure) => describeFailure(failure, context.connection()),
    })
  }
}

/** @throws Failure `usage` in a non-interactive run */
function demandTerminal(
  { streams, host }: Context,
  isForbidden: boolean,
  { message = 'MESSAGE', picks }: { message: string | undefined; picks: boolean },
): void {
  if (streams.isConversation && host.env['TERM'] !== 'dumb' && !isForbidden) return
  const why = isForbidden
    ? 'A chat session is interactive, so it cannot run with --no-input'
    : streams.isConversation
      ? 'A chat session requires a terminal that can move the cursor, but TERM is dumb'
      : 'A chat session requires a terminal for stdin and stdout'
  throw new Failure('usage', why, {
    hint: picks
      ? 'List the sessions with: chatctl chat sessions'
      : `Send one message with: ${commandLine('chat', 'send', message)}`,
  })
}

/** The name of the service for people, and whether it is the embedded service with a model server. */
function describeService(context: Context): { name: string; hasModelServer: boolean } {
  const target = context.target()
  if (target.kind === 'remote') {
    const { baseUrl, profile } = target
    return {
      name: profile === undefined ? baseUrl : `${baseUrl} (profile ${profile})`,
      hasModelServer: false,
    }
  }
  const modelServer = context.embedded.modelServer().server?.url
  return {
    name: `the embedded service, ${modelServer === undefined ? 'built-in test program' : describeModelServer(modelServer)}`,
    hasModelServer: modelServer !== undefined,
  }
}
