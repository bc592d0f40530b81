import * as Flags from '@oclif/core/flags'
import { commandLine } from '../cli/command-line.ts'
import type { Context } from '../cli/context/context.ts'
import { outcomeHint } from '../cli/errors/outcome-hint.ts'
import { rowLimitFlag, rowsToShow } from '../cli/flags/shared-flags.ts'
import { LocalCommand } from '../cli/local-command.ts'
import { localProfile } from '../config/resolve-options.ts'
import { withoutTrailing } from '../contract/notation/text.ts'
import type { ServiceEntry } from '../ledger/ledger.ts'
import { activityView, shownChange } from '../view/activity.ts'
import { countOf } from '../view/format/quantities.ts'
import { pastFlag } from './service/service-flags.ts'

type Shown = ReturnType<typeof shownChange<ServiceEntry>> & { next_step?: string }

export default class Activity extends LocalCommand {
  static override summary = 'Show the changes that chatctl sent from this machine'
  static override description =
    'Lists the requests of every profile that change settings, users, or anything else but chats, oldest first, with their outcome: done, refused (certainly without effect), contradicted (the response shows other values), unverified (accepted, status 202), unknown, or in_progress (another run has sent it, and waits for the response). These are the ledgers of your user on this machine, one for each service. They have no changes made elsewhere, and chatctl asks no service for it. With --profile or --base-url, only changes with that profile or sent to that service are shown.'
  static override view = activityView
  static override examples = LocalCommand.toExamples({
    'Show the changes of the last week': 'chatctl activity --since 7d',
    'Show what to check after an interruption': 'chatctl activity --unknown',
    'Show the last 10 changes with one profile as JSON': 'chatctl activity --profile local --limit 10 --json',
  })
  static override flags = {
    since: pastFlag({ summary: 'Only changes since a time: 7d, 12h, or 2026-01-31 (UTC)' }),
    unknown: Flags.boolean({ summary: 'Only changes whose outcome is unknown, and how to check each' }),
    limit: rowLimitFlag('changes; the newest are shown', 50),
  }
  /** The profile of an earlier change may have been removed. */
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { flags, context } = await this.start(Activity)
    const { allEntries } = await import('../ledger/ledger.ts')
    const { profile, base_url: baseUrl } = context.options
    const service = baseUrl.source === 'flag' ? context.contextOwner().baseUrl : undefined
    const isWanted = (entry: ServiceEntry): boolean =>
      (flags.since === undefined || entry.at >= flags.since) &&
      (!flags.unknown || entry.outcome === 'unknown') &&
      (profile.source !== 'flag' || entry.profile === profile.value) &&
      (service === undefined || isSentTo(entry, service))
    const limit = rowsToShow(flags.limit, context.output, 50)
    const found: Shown[] = []
    let unreadable = 0
    let hasMore = false
    for (const entry of allEntries(context.directories, () => unreadable++, flags.since)) {
      if (!isWanted(entry)) continue
      hasMore = found.length === limit
      if (hasMore) break
      const shown = shownChange(entry)
      found.push(flags.unknown ? { ...shown, next_step: nextStepFor(entry, context) } : shown)
    }
    await context.output.show(activityView, found.reverse())
    for (const step of new Set(found.map(({ next_step: step }) => step))) {
      if (step !== undefined) context.output.progress(step)
    }
    if (hasMore) context.output.notice(`There are older changes. Show them with: --limit ${2 * limit}`)
    if (unreadable === 0) return
    const lines = countOf(unreadable, 'line')
    const are = unreadable === 1 ? 'is' : 'are'
    await context.output.warn(`${lines} of the ledger cannot be read and ${are} skipped`)
  }
}

/** A base URL may have the beginning of the path, which the ledger has in the path. */
function isSentTo({ service, path }: ServiceEntry, baseUrl: string): boolean {
  const url = withoutTrailing(service, '/') + path
  return baseUrl.startsWith(service) && url.startsWith(`${withoutTrailing(baseUrl, '/')}/`)
}

/** How to check a change whose outcome is unknown, with commands for its service. */
function nextStepFor({ method, path, service, profile }: ServiceEntry, { configuration }: Context): string {
  const ofProfile = profile === undefined ? undefined : configuration.profiles?.[profile]?.base_url
  const isOfProfile =
    ofProfile !== undefined && URL.canParse(ofProfile) && new URL(ofProfile).href === service
  const named =
    service === 'local'
      ? ['--profile', localProfile]
      : isOfProfile && profile !== undefined
        ? ['--profile', profile]
        : ['--base-url', service]
  const url = `${service === 'local' ? 'http://localhost' : service.replace(/\/$/, '')}${path}`
  return outcomeHint({ method, url }, (...words) => commandLine(...words, ...named))
}
