import { BaseCommand } from '../../cli/base-command.ts'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { sharedFlags } from '../../cli/flags/shared-flags.ts'
import { formatOfFile } from '../../cli/output/format-of-file.ts'
import { countOf } from '../../view/format/quantities.ts'
import { pastFlag } from '../service/service-flags.ts'
import { ambiguousTimes, reportFetch } from './page-through-history.ts'

const formats = { jsonl: 'jsonl', json: 'json', md: 'markdown', markdown: 'markdown', html: 'html' } as const

export default class HistoryExport extends BaseCommand {
  static override summary = 'Export past messages, oldest first'
  static override description =
    'All messages are fetched before anything is written. To resume an interrupted export, run the same command within 7 days. This also works if the command has a relative time, such as --since 24h. A conversation that only this machine stores is exported with chat show.'
  static override requests = { ...calls('listHistory'), note: 'once for each page.' }
  static override examples = [
    { description: 'Export the whole history', command: 'chatctl history export --to history.jsonl' },
    {
      description: 'Export one conversation as a web page',
      command: 'chatctl history export --context ID --to conversation.html',
    },
    {
      description: 'Read the last week as Markdown',
      command: 'chatctl history export --since 7d -o markdown | less',
    },
  ]
  static override flags = {
    context: textFlag({ helpValue: 'ID', summary: 'Only messages of this conversation' }),
    since: pastFlag({
      summary:
        'Only messages since this time: 7d (7 days ago), 24h, 2026-01-31 (UTC), or 2026-01-31T08:00:00Z',
    }),
    to: textFlag({
      helpValue: 'FILE',
      summary: 'File to write when all messages are fetched; - is stdout (default: -)',
    }),
    output: {
      ...sharedFlags.output,
      summary: 'Output format: jsonl, json, markdown, or html (default: from the file extension, or jsonl)',
    },
  }
  static override documentFormats = ['jsonl', 'json', 'markdown', 'html'] as const

  async run(): Promise<void> {
    const { flags, raw, context } = await this.start(HistoryExport)
    const { output, signal, options } = context
    const { clock } = context.host
    const since = flags.since === undefined ? undefined : Date.parse(flags.since)
    // A later run with the same relative time resumes the export.
    const typed = raw.find((token) => token.type === 'flag' && token.flag === 'since')
    const format = formatOfFile(flags.to ?? '', formats, options.output) ?? 'jsonl'
    const to = flags.to === undefined || flags.to === '-' ? undefined : context.resolvePath(flags.to)
    const client = await context.connect()
    const { exportHistory } = await import('../../history/export-history.ts')
    context.host.keepHeapSmall()
    const { progress, ...report } = reportFetch(output)
    let isUnsure = false
    try {
      const written = await exportHistory({
        directories: context.directories,
        history: client.history,
        format,
        identity: { ...identify(context), context: flags.context, since: typed?.input },
        since,
        to,
        signal,
        clock,
        isStdoutClosed: () => context.streams.isUnread,
        onExit: context.host.onExit,
        writeToStdout: (bytes) => output.showBytes(bytes),
        ...report,
        onResume: (messages) =>
          output.notice(`Resuming after ${countOf(messages, 'message')} of an earlier run.`),
        onAmbiguousTime: () => {
          isUnsure = true
        },
        onWritten: () => progress.end(),
        onKept: (messages) => {
          progress.end()
          output.notice(`${countOf(messages, 'message')} saved. To resume, run the same command.`)
        },
      })
      progress.end()
      if (isUnsure) await output.warn(ambiguousTimes)
      if (to !== undefined) output.progress(`${countOf(written, 'message')} in ${flags.to}`)
      await noteOwnConversations(context, format, flags.context, since)
    } finally {
      progress.end()
    }
  }
}

/** Says how to export the conversations of which the service does not have all messages. */
async function noteOwnConversations(
  { directories, output, contextOwner }: Context,
  format: string,
  id: string | undefined,
  since = Number.NEGATIVE_INFINITY,
): Promise<void> {
  const { listTranscripts } = await import('../../chat/transcript/list-transcripts.ts')
  const own = listTranscripts(directories.sessions, contextOwner(), {
    isWanted: ({ isOnService, contextId, updatedAt }) =>
      !isOnService && (id ?? contextId) === contextId && !(Date.parse(updatedAt) < since),
  }).map((session) => session.id)
  const [first] = own
  if (first === undefined) return
  output.notice(
    `This export lacks messages of ${countOf(own.length, 'conversation')}, which only this machine stores. List them with: chatctl chat sessions --fields id,mode. Export one with: ${commandLine('chat', 'show', first, '-o', format)}`,
  )
}

/** Identifies the history, so that an export only resumes an earlier export of the same history. */
function identify(context: Context): { service: string | undefined; owner: string[] } {
  const { baseUrl, profile } = context.contextOwner()
  const target = context.target()
  const key = target.kind === 'remote' ? target.fromEnvironment?.secret : undefined
  return { service: baseUrl, owner: [profile ?? '', key ?? ''] }
}
