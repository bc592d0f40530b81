import { showControls } from '../terminal/strip-controls.ts'
import { changeLines, driftedMark, driftedNote, type ShownChange, valueText } from './changes.ts'
import { codeSpan, markdownTable } from './format/markdown-table.ts'
import { countOf } from './format/quantities.ts'
import { pairsView, plain, type Span, type View } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'
import { describeRecord, type PlanRecord } from './plan-record.ts'

/** A key of a settings file that differs, as commands print it. `api.…` is a key of the API configuration. */
export interface PrintedChange {
  path: string
  /** Null if the service has no value, or if it is not known what was last sent. */
  from: unknown
  to: unknown
  /** The source of `from`, if it was not read from the service. */
  compared_with?: 'last_sent'
  /** Whether only this service has the key. */
  undocumented?: true
  /** Whether someone else has changed the value since it was sent. */
  drifted?: true
}

export interface Comparison {
  /** Number of keys in the files. */
  managed: number
  /** When this machine, or the one that made the plan, last sent the API configuration. Null for never. */
  sentAt: string | null
  /** Whether this is a saved plan, perhaps from another machine. */
  isSaved?: boolean
  /** A saved plan that is shown without contacting the service. */
  record?: PlanRecord
  /** Number of settings files (default: 1). */
  files?: number
  /** Keys of the other part, which are neither compared nor sent. */
  ignored?: IgnoredKeys | undefined
}

/** Keys that are ignored because the run is limited to the other part. */
export interface IgnoredKeys {
  part: 'settings' | 'api'
  keys: number
}

const base: View = {
  layout: 'records',
  columns: plain('path from to compared_with:hidden undocumented:hidden drifted:hidden'),
  json: plain(
    'changes[].path changes[].from:any changes[].to:any changes[].compared_with changes[].undocumented:boolean',
    'changes[].drifted:boolean applied:boolean plan.created_at plan.service plan.made_by plan.refused:boolean plan.valid_until',
  ),
  rows: changesIn,
}

/** The changes that applying the files would make. Used by `settings diff` and `plan approve`. */
export function differenceView(comparison: Comparison): View {
  return {
    ...base,
    text: (body, width = Infinity) => describeDifference(changesIn(body), comparison, width),
    markdown: (body) => differenceMarkdown(changesIn(body), comparison),
  }
}

/** The changes that were applied. Used by `settings apply`, `settings diff`, `settings edit`, and `settings revert`. */
export const appliedView: View = { ...base, text: (body) => describeApplied(changesIn(body)) }

function changesIn(body: unknown): PrintedChange[] {
  return (body as { changes: PrintedChange[] }).changes
}

function describeDifference(changes: PrintedChange[], comparison: Comparison, width: number): Span[] {
  const { record } = comparison
  const ofService = changes.filter((change) => !isApi(change))
  const ofApi = changes.filter(isApi)
  const parts: Span[][] = [
    record ? [{ text: `${wrapWords(describeRecord(record), width)}\n` }] : [],
    ofService.length > 0 ? changeLines(ofService.map(shown), width, 2) : [],
    ofApi.length > 0
      ? [
          { text: wrapWords(`API configuration, ${sentFrom(comparison)}`, width), style: 'bold' as const },
          { text: '\n' },
          ...changeLines(ofApi.map(shown), width, 2),
        ]
      : [],
    [summaryOf(changes, comparison), ...(changes.some((change) => change.drifted) ? [driftedNote] : [])].map(
      (line) => ({ text: `${wrapWords(line, width)}\n` }),
    ),
  ].filter((part) => part.length > 0)
  return parts.flatMap((part, index) => (index === 0 ? part : [{ text: '\n' }, ...part]))
}

function isApi({ compared_with }: PrintedChange): boolean {
  return compared_with !== undefined
}

/** How many keys differ, and how many are ignored. */
function summaryOf(changes: readonly PrintedChange[], comparison: Comparison): string {
  const { managed, isSaved, record, files = 1, ignored } = comparison
  const source = isSaved || record ? 'plan' : files === 1 ? 'file' : 'files'
  const count = `${changes.length || 'None'} of the ${countOf(managed, 'key')} in the ${source}`
  // A saved plan says nothing about the current settings.
  const now = changes.length > 1 ? 'differ' : 'differs'
  const verb = record ? 'differed when the plan was saved' : now
  const drifted = changes.filter((change) => change.drifted).length
  const which = drifted > 0 ? ` (${drifted} drifted)` : ''
  return `${count} ${verb}${which}.${ignored ? ` ${describeIgnored(ignored)}` : ''}`
}

function describeIgnored({ part, keys }: IgnoredKeys): string {
  const place = part === 'api' ? 'the API configuration' : 'the settings'
  return `${countOf(keys, 'key')} of ${place} ${keys === 1 ? 'is' : 'are'} ignored.`
}

/** What the changes of the API configuration are compared with. */
function sentFrom({ sentAt, isSaved, record }: Comparison): string {
  const from = isSaved || record ? 'the machine that made the plan' : 'here'
  return `compared with what was last sent from ${from} (${sentAt ?? 'not known'})`
}

/** One table, so that it can be found and replaced in a comment. */
function differenceMarkdown(changes: PrintedChange[], comparison: Comparison): string {
  const { record } = comparison
  const summary = summaryOf(changes, comparison)
  const pathsOf = (chosen: PrintedChange[]) => chosen.map(({ path }) => codeSpan(path)).join(', ')
  const undocumented = changes.filter((change) => change.undocumented)
  const drifted = changes.filter((change) => change.drifted)
  const notes = [
    ...(changes.some(isApi) ? [`API configuration: ${sentFrom(comparison)}.`] : []),
    ...(undocumented.length > 0 ? [`Undocumented: ${pathsOf(undocumented)}.`] : []),
    ...(drifted.length > 0 ? [`${driftedNote.slice(0, -1)}: ${pathsOf(drifted)}.`] : []),
    ...(record ? [describeRecord(record, codeSpan)] : []),
  ].map((note) => `${note}\n`)
  if (changes.length === 0) return [`No differences. ${summary}\n`, ...notes].join('\n')
  const rows = changes.map(({ path, from, to }) => [path, valueText(from), valueText(to)])
  const table = markdownTable(['Key', 'Before', 'After'], rows)
  return [`### Settings: ${summary.replace(/\.$/, '')}\n`, table, ...notes].join('\n')
}

function shown({ path, from, to, undocumented, drifted }: PrintedChange): ShownChange {
  const marks = (undocumented ? mark : '') + (drifted ? driftedMark : '')
  return { path, before: valueText(from), isKnown: from !== null, after: valueText(to), mark: marks }
}

const mark = ' (undocumented)'

/** A change in one line, without color. */
export function describeChange({ path, from, to }: PrintedChange): string {
  return `${path} from ${valueText(from)} to ${valueText(to)}`
}

function describeApplied(changes: PrintedChange[]): Span[] {
  const sent = changes.filter(isApi)
  const verified = changes.filter((change) => !isApi(change))
  const names = (some: PrintedChange[]): string =>
    some.map((one) => showControls(one.path) + (one.undocumented ? mark : '')).join(', ')
  return [
    ...(verified.length > 0 ? [{ text: `Applied and verified: ${names(verified)}\n` }] : []),
    ...(sent.length > 0 ? [{ text: `Sent, and cannot be read back: ${names(sent)}\n` }] : []),
  ]
}

/** Used by `settings get` and `settings set`. */
export const settingsView: View = {
  ...pairsView(`
    app_name theme.primary_color theme.mode features.chat features.file_upload features.code_completion
    limits.max_tokens limits.max_requests_per_min
  `),
  json: 'getSettings',
}

export const preferencesView = pairsView(
  'language timezone notifications.email notifications.push display.theme display.font_size',
  { json: 'getPreferences' },
)

/** Used by `settings api get` and `settings api set`. */
export const apiConfigurationView = pairsView(`
  version rate_limiting.enabled:boolean rate_limiting.requests_per_minute:integer
  cors.allowed_origins:strings cors.allowed_methods:strings
`)
