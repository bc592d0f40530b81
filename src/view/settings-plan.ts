import { visibleJson } from '../terminal/strip-controls.ts'
import type { Span, View } from './view.ts'
import { wrapWords } from './wrap-words.ts'

/** A key of a settings file that differs. `api.…` is a key of the API configuration. */
interface Change {
  path: string
  /** Null if the service has no value, or nothing was sent yet. */
  from: unknown
  to: unknown
  compared_with?: 'last_sent'
}

/** Context of a comparison. */
export interface Comparison {
  /** Number of keys in the files. */
  managed: number
  /** When this machine, or the one that made the plan, last sent the API configuration. Null for never. */
  sentAt: string | null
  /** Whether this is a saved plan, perhaps from another machine. */
  isSaved?: boolean
  /** Number of settings files (default: 1). */
  files?: number
}

const base: View = {
  layout: 'records',
  columns: [{ path: 'path' }, { path: 'from' }, { path: 'to' }, { path: 'compared_with', hidden: true }],
  rows: changesIn,
}

/** The changes that applying the files would make. */
export function differenceView(comparison: Comparison): View {
  return { ...base, text: (body, width = Infinity) => describeDifference(changesIn(body), comparison, width) }
}

/** The changes that were applied. */
export const appliedView: View = { ...base, text: (body) => describeApplied(changesIn(body)) }

/** The changes to the API configuration only, with a heading. */
export function sentView(sentAt: string | null): View {
  return { ...base, text: (body, width = Infinity) => describeSent(changesIn(body), sentAt, 'here', width) }
}

function changesIn(body: unknown): Change[] {
  return (body as { changes: Change[] }).changes
}

function describeDifference(
  changes: Change[],
  { managed, sentAt, isSaved, files = 1 }: Comparison,
  width: number,
): Span[] {
  const source = isSaved ? 'plan' : files === 1 ? 'file' : 'files'
  const keys = `the ${managed} keys in the ${source}`
  const count = managed === 1 ? `The key in the ${source}` : `${changes.length || 'None'} of ${keys}`
  if (changes.length === 0) return [{ text: `${count} ${managed === 1 ? 'does not differ' : 'differs'}.` }]
  const isApi = ({ compared_with }: Change): boolean => compared_with !== undefined
  const ofService = changes.filter((change) => !isApi(change))
  const ofApi = changes.filter(isApi)
  const parts = [
    ofService.length > 0 ? lines(ofService, width) : [],
    ofApi.length > 0
      ? describeSent(ofApi, sentAt, isSaved ? 'the machine that made the plan' : 'here', width)
      : [],
    [{ text: `${count} ${changes.length === 1 ? 'differs' : 'differ'}.\n` }],
  ].filter((part) => part.length > 0)
  return parts.flatMap((part, index) => (index === 0 ? part : [{ text: '\n' }, ...part]))
}

function describeSent(changes: Change[], sentAt: string | null, from: string, width: number): Span[] {
  const when = sentAt === null ? 'nothing sent yet' : sentAt
  const heading = `API configuration, compared with what was last sent from ${from} (${when})`
  return [{ text: wrapWords(heading, width), style: 'bold' }, { text: '\n' }, ...lines(changes, width)]
}

function lines(changes: readonly Change[], width: number): Span[] {
  const beside = linesBeside(changes)
  const text = beside.map((span) => span.text).join('')
  const isTooWide = text.split('\n').some((line) => line.length > width)
  return isTooWide ? changes.flatMap((change) => linesBelow(change, width)) : beside
}

/** The key, and both values below it. No line is wider than the terminal, unless a word is. */
function linesBelow({ path, from, to }: Change, width: number): Span[] {
  const value = (word: string, one: unknown) => `${wrapWords(`    ${word} ${valueText(one)}`, width, 8)}\n`
  return [
    { text: `  ${path}\n` },
    { text: value('old', from), style: from === null ? 'dim' : 'red' },
    { text: value('new', to), style: 'green' },
  ]
}

function linesBeside(changes: readonly Change[]): Span[] {
  const width = Math.max(...changes.map(({ path }) => path.length))
  const before = Math.max(...changes.map(({ from }) => valueText(from).length).filter((one) => one <= 24), 0)
  return changes.flatMap(({ path, from, to }) => [
    { text: `  ${path.padEnd(width)}  ` },
    from === null
      ? { text: valueText(from), style: 'dim' as const }
      : { text: valueText(from), style: 'red' as const },
    { text: `${' '.repeat(Math.max(0, before - valueText(from).length))} → ` },
    { text: valueText(to), style: 'green' },
    { text: '\n' },
  ])
}

/** A change in one line, without color. */
export function describeChange({ path, from, to }: Change): string {
  return `${path} from ${valueText(from)} to ${valueText(to)}`
}

/** The value as JSON, so that `"on"` differs from `true`, and `""` from no value. */
function valueText(value: unknown): string {
  return value === null || value === undefined ? 'none' : visibleJson(value)
}

function describeApplied(changes: Change[]): Span[] {
  const verified = changes.filter(({ compared_with }) => compared_with === undefined)
  const sent = changes.filter(({ compared_with }) => compared_with !== undefined)
  const names = (some: Change[]): string => some.map(({ path }) => path).join(', ')
  return [
    ...(verified.length > 0 ? [{ text: `Applied and verified: ${names(verified)}\n` }] : []),
    ...(sent.length > 0 ? [{ text: `Sent, and cannot be read back: ${names(sent)}\n` }] : []),
  ]
}
