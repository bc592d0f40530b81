import { BaseCommand } from '../../cli/base-command.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { sharedFlags, storedFlags } from '../../cli/flags/shared-flags.ts'
import { formatOfFile } from '../../cli/output/format-of-file.ts'
import type { Failure } from '../../contract/failure.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import { historyView } from '../../view/history.ts'
import { pastFlag } from '../service/service-flags.ts'
import { demandOwnSessions } from './search-history.ts'

const formats = { jsonl: 'jsonl', json: 'json', md: 'markdown', markdown: 'markdown', html: 'html' } as const

export default class HistoryExport extends BaseCommand {
  static override summary = 'Export past messages, oldest first'
  static override description =
    'Contains the messages that the service stores, and those that only this machine stores, such as a conversation with a system message. With --local, no request is sent. All messages are fetched before anything is written. To resume an interrupted export, run the same command within 7 days. This also works if the command has a relative time, such as --since 24h.'
  static override requests = {
    ...calls('getProfile', 'listHistory'),
    note: 'the history once for each page; none with --local.',
  }
  static override examples = BaseCommand.toExamples({
    'Export all messages': 'chatctl history export --to history.jsonl',
    'Export what only this machine stores, without a request':
      'chatctl history export --local --to local.html',
    'Export one conversation as a web page': 'chatctl history export --context ID --to conversation.html',
    'Read the last week as Markdown': 'chatctl history export --since 7d -o markdown | less',
  })
  static override flags = {
    context: textFlag({ helpValue: 'ID', summary: 'Only messages of this conversation' }),
    since: pastFlag({
      summary:
        'Only messages since this time: 7d (7 days ago), 24h, 2026-01-31 (UTC), or 2026-01-31T08:00:00Z',
    }),
    ...storedFlags,
    to: textFlag({
      helpValue: 'FILE',
      summary: 'File to write when all messages are fetched; - is stdout (default: -)',
    }),
    output: {
      ...sharedFlags.output,
      summary: 'Output format: jsonl, json, markdown, or html (default: from the file extension, or jsonl)',
    },
  }
  static override otherViews = { '--json': historyView }
  static override documentFormats = ['jsonl', 'json', 'markdown', 'html'] as const

  async run(): Promise<void> {
    const { flags, raw, context } = await this.start(HistoryExport)
    const { output, options } = context
    const since = flags.since === undefined ? undefined : Date.parse(flags.since)
    // A later run with the same relative time resumes the export.
    const typed = raw.find((token) => token.type === 'flag' && token.flag === 'since')
    const format = formatOfFile(flags.to ?? '', formats, options.output) ?? 'jsonl'
    const to = flags.to === undefined || flags.to === '-' ? undefined : context.resolvePath(flags.to)
    const { DeliveryCheck } = await import('../../chat/transcript/check-deliveries.ts')
    const { readLocalMessages } = await import('../../chat/transcript/local-messages.ts')
    const unreadable: Failure[] = []
    const onUnreadable = (failure: Failure) => unreadable.push(failure)
    const selection = { since, contextId: flags.context, hasUnknown: !flags.local, onUnreadable }
    const { sessions } = context.directories
    const owner = context.contextOwner()
    const local = flags.stored ? [] : readLocalMessages(sessions, owner, selection)
    const check = new DeliveryCheck(sessions, owner, context.knownUser(), flags.context)
    if (!flags.stored && check.users.size > 0)
      await demandOwnSessions(context, check.users, flags.local ? context.knownUser() : await context.user())
    const { exportHistory } = await import('../../history/export-history.ts')
    const target = context.target()
    const { service, local: own } = await exportHistory(context, {
      isFetched: !flags.local,
      local,
      format,
      context: flags.context,
      since,
      sinceText: typed?.input,
      credential: target.kind === 'remote' ? target.fromEnvironment?.secret : undefined,
      to,
      onMessages: (messages) => check.see(messages),
      onFetched: (isWhole) => check.settle(isWhole),
      isStdoutClosed: () => context.streams.isUnread,
      onExit: context.host.onExit,
      writeToStdout: (bytes) => output.showBytes(bytes),
    })
    for (const { message } of unreadable) await output.warn(`${message}, so its messages may be missing.`)
    const place = to === undefined ? '' : ` in ${flags.to}`
    const sources = [
      ...(flags.local ? [] : [`${groupDigits(service)} from the service`]),
      ...(flags.stored ? [] : [`${groupDigits(own)} from this machine`]),
    ]
    output.progress(`${countOf(service + own, 'message')}${place}: ${sources.join(', ')}`)
  }
}
