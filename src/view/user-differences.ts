import { showControls } from '../terminal/strip-controls.ts'
import { changeLines, driftedMark, driftedNote, type ShownChange, valueText } from './changes.ts'
import { markdownTable } from './format/markdown-table.ts'
import { countOf, groupDigits } from './format/quantities.ts'
import { plain, recordsView, type Span, textOf, type View } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'
import { describeRecord, type PlanRecord } from './plan-record.ts'

/** A field of a user that differs. Secrets are already hidden. */
export interface PrintedFieldChange {
  path: string
  /** Null if the service has no value, or if the value is not known (see `compared_with`). */
  from: unknown
  to: unknown
  /** Absent if the value was read from the service now. */
  compared_with?: 'last_sent' | 'unknown'
  drifted?: true
}

/** A user who is not as the files describe it, or of whom that is not known. */
export interface PrintedUser {
  email: string
  id: string | null
  action: 'create' | 'change' | 'adopt' | 'missing' | 'unknown' | 'failed'
  changes: readonly PrintedFieldChange[]
  error?: { code: string; message: string }
}

/** Numbers of users. A drifted user is also counted as one to change. */
export interface UserCounts {
  create: number
  change: number
  /** Those that only the ledger has. */
  adopt: number
  unchanged: number
  drifted: number
  missing: number
  unknown: number
  failed: number
  unread: number
  unmanaged: number
}

/** The differences between files of users and the service. */
export interface PrintedDifferences {
  service: string
  state: string
  users: readonly PrintedUser[]
  /** Users that are in the state file, but not in the files. */
  unmanaged: readonly { email: string; id: string | null }[]
  counts: UserCounts
}

/** In JSON. Only `users apply` has `applied`. */
export const differenceFields = plain(
  'service state users[].email users[].id users[].action users[].changes[].path users[].changes[].compared_with',
  'users[].changes[].from:any users[].changes[].to:any users[].changes[].drifted:boolean users[].error.code',
  'users[].error.message unmanaged[].email unmanaged[].id counts.create:integer counts.change:integer',
  'counts.adopt:integer counts.unchanged:integer counts.drifted:integer counts.missing:integer',
  'counts.unknown:integer counts.failed:integer counts.unread:integer counts.unmanaged:integer applied:boolean',
)

/** Used by `users apply`, `users diff`, and `plan approve`. */
export const userDifferenceView = recordsView(
  'email id:whole action path from to compared_with drifted error:hidden',
  {
    json: [...differenceFields, ...plain('requests:integer', 'first_requests:objects')],
    rows: (body) => [...rowsIn(body as PrintedDifferences)],
    text: (body, width = Infinity) => describeDifferences(body as PrintedDifferences, width),
    markdown: (body) => markdownOf(body as PrintedDifferences),
  },
)

/** The same for a saved plan, with its origin. */
export function plannedUsersView(record: PlanRecord): View {
  return {
    ...userDifferenceView,
    text: (body, width = Infinity) => [
      { text: `${wrapWords(describeRecord(record), width)}\n\n` },
      ...describeDifferences(body as PrintedDifferences, width),
    ],
  }
}

/** One row for each field that differs, and one for each user without such a field. */
function* rowsIn({ users, unmanaged }: PrintedDifferences): Iterable<Record<string, unknown>> {
  for (const { email, id, action, changes, error } of users) {
    const user = { email, id, action }
    for (const change of changes) yield { ...user, ...change }
    if (changes.length === 0) yield { ...user, ...(error && { error: error.message }) }
  }
  for (const user of unmanaged) yield { ...user, action: 'unmanaged' }
}

function markdownOf(differences: PrintedDifferences): string {
  const { users, unmanaged, counts } = differences
  const summary = `${summarize(counts)}\n`
  if (users.length + unmanaged.length === 0) return summary
  const rows = [...rowsIn(differences)].map(
    ({ email, action, path, from, to, compared_with, drifted, error }) => [
      String(email),
      drifted ? `${action}, drifted` : String(action),
      textOf(path ?? error),
      path === undefined || action === 'create' ? '' : beforeText({ from, compared_with }),
      path === undefined ? '' : valueText(to),
    ],
  )
  return `${markdownTable(['User', 'Action', 'Field', 'Before', 'After'], rows)}\n${summary}`
}

function describeDifferences({ users, unmanaged, counts }: PrintedDifferences, width: number): Span[] {
  const spans = users.flatMap((user) => describeUser(user, width))
  for (const { email } of unmanaged) {
    const words = `- ${email} unmanaged: in the state file, but not in the files`
    spans.push({ text: `${wrapWords(showControls(words), width, 4)}\n`, style: 'dim' })
  }
  if (spans.length > 0) spans.push({ text: '\n' })
  const notes = [
    summarize(counts),
    ...(counts.adopt > 0
      ? ['Adopt: the file or the ledger on this machine has the ID, but the state file does not.']
      : []),
    ...(counts.drifted > 0 ? [driftedNote] : []),
    ...(counts.unmanaged > 0 ? ['Unmanaged users remain: the service offers no way to delete a user.'] : []),
  ]
  return [...spans, ...notes.map((note) => ({ text: `${wrapWords(showControls(note), width)}\n` }))]
}

function describeUser({ email, id, action, changes, error }: PrintedUser, width: number): Span[] {
  const line = (text: string, style: Span['style']): Span[] => [
    { text: `${wrapWords(showControls(text), width, 4)}\n`, ...(style && { style }) },
  ]
  switch (action) {
    case 'create': {
      const fields = changes.map(({ path, to }) => `${path} ${valueText(to)}`)
      return line(`+ create ${email}${fields.length > 0 ? `  ${fields.join(', ')}` : ''}`, 'green')
    }
    case 'change': {
      const isDrifted = changes.some(({ drifted }) => drifted)
      return [
        { text: `${isDrifted ? '!' : '~'} `, style: isDrifted ? 'red' : 'yellow' },
        { text: `${showControls(email)}\n` },
        ...changeLines(changes.map(shown), width, 4),
      ]
    }
    case 'adopt':
      return [
        ...line(`= adopt ${email}  ${id}`, 'yellow'),
        ...(changes.length > 0 ? changeLines(changes.map(shown), width, 4) : []),
      ]
    case 'missing':
      return line(`! ${email} missing: the service has no user with the ID ${id}`, 'red')
    case 'unknown':
      return line(`? ${email} unknown: ${error?.message ?? 'it may or may not exist'}`, 'yellow')
    case 'failed':
      return line(`! ${email} failed: ${error?.message ?? 'it could not be read'}`, 'red')
  }
}

function shown({ path, to, drifted, ...change }: PrintedFieldChange): ShownChange {
  const isKnown = change.compared_with === undefined && change.from !== null
  const mark = drifted ? driftedMark : ''
  return { path, before: beforeText(change), isKnown, after: valueText(to), mark }
}

function beforeText({ from, compared_with }: { from?: unknown; compared_with?: unknown }): string {
  if (compared_with === 'last_sent') return 'not as last sent'
  return compared_with === 'unknown' ? 'last value unknown' : valueText(from)
}

/** `2 to create, 1 to change (1 drifted), 20 unchanged.` */
function summarize(counts: UserCounts): string {
  const { create, change, adopt, drifted, missing, unknown, failed, unread, unmanaged, unchanged } = counts
  const known = create + change + adopt + missing + unknown + failed
  if (known === 0 && unread === 0) {
    const left = unmanaged > 0 ? ` ${countOf(unmanaged, 'user')} unmanaged.` : ''
    return `No changes: ${countOf(unchanged, 'user')} as in the files.${left}`
  }
  const parts: [number, string][] = [
    [create, 'to create'],
    [change, drifted > 0 ? `to change (${groupDigits(drifted)} drifted)` : 'to change'],
    [adopt, 'to adopt'],
    [missing, 'missing'],
    [unknown, 'unknown'],
    [failed, 'failed'],
    [unchanged, 'unchanged'],
    [unread, 'not read'],
    [unmanaged, 'unmanaged'],
  ]
  const words = parts.filter(([count]) => count > 0).map(([count, word]) => `${groupDigits(count)} ${word}`)
  return `${known === 0 ? 'No changes known: ' : ''}${words.join(', ')}.`
}
