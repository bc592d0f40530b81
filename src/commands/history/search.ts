import { commandFor } from '../../cli/command-line.ts'
import { requiredArgument, textFlag } from '../../cli/flags/flag-types.ts'
import { rowLimitFlag, rowsToShow, storedFlags } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { wantsColor } from '../../cli/output/colors.ts'
import type { SearchReport } from '../../history/search-messages.ts'
import { countOf, localTime } from '../../view/format/quantities.ts'
import { foundMessagesView, highlightedView } from '../../view/history.ts'
import { pastFlag } from '../service/service-flags.ts'
import { searchHistory } from './search-history.ts'

export default class HistorySearch extends LocalCommand {
  static override summary = 'Search past messages on this machine'
  static override description =
    'Searches the mirror that history sync made, and the sessions of this profile, newest message first. --stored finds the messages that the service has, and --local those that only this machine stores. No request is sent. All words must occur. Case and accents do not matter. "Two words" in quotes must follow each other, and index* finds words that begin with index. To continue a session that was found, use chat --resume ID.'
  static override view = foundMessagesView
  static override examples = LocalCommand.toExamples({
    'Find messages with both words': 'chatctl history search "vacuum index"',
    'Find a phrase in replies of the last 30 days': `chatctl history search '"write-ahead log"' --role assistant --since 30d`,
    'Print the IDs of the sessions as JSON':
      'chatctl history search "index*" --json --fields session_id,time',
  })
  static override args = { words: requiredArgument('Words to find, as one argument') }
  static override flags = {
    context: textFlag({
      helpValue: 'ID',
      summary: 'Only messages that are known to belong to this conversation',
    }),
    limit: rowLimitFlag('messages', 20),
    ...storedFlags,
    role: textFlag({ helpValue: 'ROLE', summary: 'Only messages of this role, such as user or assistant' }),
    since: pastFlag({
      summary:
        'Only messages since this time: 7d (7 days ago), 24h, 2026-01-31 (UTC), or 2026-01-31T08:00:00Z',
    }),
  }
  protected override readonly takesText = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(HistorySearch)
    const { output, host } = context
    const since = flags.since === undefined ? undefined : Date.parse(flags.since)
    const isLocal = flags.local
    const deliveries = isLocal ? ['local', 'not_sent'] : flags.stored ? ['stored'] : undefined
    const filters = { since, role: flags.role, contextId: flags.context, deliveries }
    const limit = rowsToShow(flags.limit, output, 20)
    const report = await searchHistory(context, { words: args.words, filters, limit })
    const isColored = wantsColor(host.stdout, context.env, output.isColorless)
    await output.show(highlightedView(report.find, isColored), report.results)
    const sync = commandFor(context, 'history', 'sync')
    const { hasMore, mirror } = report
    const isPartial = hasMore || (!isLocal && (!mirror || mirror.isIncomplete))
    const searched = describeSearch(report, sync, isLocal)
    if (isPartial) output.notice(searched)
    else output.progress(searched)
  }
}

/** What was searched, so that it is not taken for everything. */
function describeSearch(
  { results, hasMore, sessions, mirror }: SearchReport,
  sync: string,
  isLocal: boolean,
): string {
  const found = results.length === 0 ? 'No message found. ' : ''
  const more = hasMore ? 'There are more messages; to see them, use --limit. ' : ''
  const inSessions = countOf(sessions, 'session')
  if (isLocal) return `${found}${more}Searched ${inSessions} with messages that only this machine stores.`
  if (!mirror) {
    return `${found}${more}Searched ${inSessions} on this machine. There is no mirror of this service; create one with: ${sync}`
  }
  const { messages, asOf, isIncomplete } = mirror
  const inMirror = `the mirror of the service (${countOf(messages, 'message')}${
    asOf === null ? '' : `, as of ${localTime(asOf / 1000)}`
  })`
  const rest = isIncomplete ? ` The mirror is incomplete; continue with: ${sync}` : ''
  return `${found}${more}Searched ${inSessions} on this machine, and ${inMirror}.${rest}`
}
