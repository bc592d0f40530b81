import { countOf, groupDigits } from './format/quantities.ts'
import { listView, pairsView, plain, recordsView, type Span, type View } from './format/view.ts'
import { differenceFields } from './user-differences.ts'

/** Used by `users create`, `users get`, and `users update`. */
export const userView = recordsView('id:whole email name created_at:time metadata:open settings:open', {
  json: 'getUser',
})

/** A new user with a generated password, which is never shown again. */
export const newUserView: View = {
  ...userView,
  columns: [...userView.columns, { path: 'generated_password' }],
}

export const adoptedUsersView = listView('email id:whole status previous:secondary')

export const forgottenUsersView = listView('email id:whole')

export const mergedUsersView = listView('email id:whole status other:any', { emptyText: 'No differences.' })

export const permissionsView = recordsView('id:whole role permissions:strings')

export const profileView = pairsView('id:whole email name created_at:time preferences:open', {
  json: 'getProfile',
})

export const userSettingsView = pairsView('success settings:open', { json: 'updateUserSettings' })

/** Numbers of users by what became of them. */
interface AppliedCounts {
  created: number
  changed: number
  /** Users that were added to the state file, and not changed. */
  adopted: number
  /** Users whose role and permissions were sent. */
  sent: number
  /** Users with any other outcome. */
  left: number
}

/** The users that differed, and what became of each. */
export function appliedUsersView(counts: AppliedCounts, refresh: boolean): View {
  return {
    layout: 'records',
    columns: plain('email', 'id', 'action', 'outcome', 'error.message'),
    json: [...differenceFields, ...plain('users[].outcome')],
    rows: (body) => (body as { users: readonly unknown[] }).users,
    text: () => describeApplied(counts, refresh),
  }
}

function describeApplied({ created, changed, adopted, sent, left }: AppliedCounts, refresh: boolean): Span[] {
  if (created + changed + adopted + left === 0) {
    return [{ text: refresh ? 'No changes.\n' : 'No changes since the last run. The users were not read.\n' }]
  }
  const done = [
    ...(created > 0 ? [`created ${countOf(created, 'user')}`] : []),
    ...(changed > 0 ? [`changed ${countOf(changed, 'user')}`] : []),
    ...(adopted > 0 ? [`adopted ${countOf(adopted, 'user')}`] : []),
  ].join(' and ')
  return [
    done === '' ? { text: 'Done: 0 users.\n' } : { text: `Done: ${done}.\n`, style: 'green' },
    ...(sent > 0
      ? [{ text: `Role and permissions of ${countOf(sent, 'user')} were sent. They cannot be read back.\n` }]
      : []),
  ]
}

/** The result of an import: numbers of rows by status. Used by `users import` and `users permissions assign`. */
export const importView = pairsView(`
  rows:integer created:integer updated:integer already_done:integer failed:integer unknown:integer
  skipped:integer remaining:integer requests:integer results failed_rows unknown_rows
`)

/** The requests that an import would send. */
export const importForecastView = pairsView(`
  rows:integer already_done:integer reads:integer creates:integer updates:integer assignments:integer
  requests:integer
  first_requests:objects
`)

/** Imports that were closed, and their progress. Used by `users import` and `users permissions assign`. */
export const closedView = listView('file service rows:integer sent:integer unknown:integer')

/** The number of requests of an import, by kind. */
interface ForecastSummary {
  rows: number
  done: number
  /** Users that are read, because their rows have an ID and an email. */
  reads: number
  steps: { create: number; update: number; assign: number }
  requests: number
}

/** `300 rows, 470 requests: 300 creates, 20 updates, 150 assignments`. */
export function summarizeForecast({ rows, done, reads, steps, requests }: ForecastSummary): string {
  const { create, update, assign } = steps
  const kinds = [
    ...(reads > 0 ? [countOf(reads, 'read')] : []),
    ...(create > 0 ? [countOf(create, 'create')] : []),
    ...(update > 0 ? [countOf(update, 'update')] : []),
    ...(assign > 0 ? [countOf(assign, 'assignment')] : []),
  ]
  const left = done > 0 ? ` (${groupDigits(done)} done before)` : ''
  return `${countOf(rows, 'row')}${left}, ${countOf(requests, 'request')}: ${kinds.join(', ') || 'nothing left to send'}`
}
