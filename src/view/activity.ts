import { leavesOf } from '../contract/notation/tree.ts'
import { listView, plain, textOf, type View } from './format/view.ts'

/** Changes that chatctl sent: `activity`. Those that were erased: `activity forget`. */
export const activityView: View = {
  ...listView(`
    at:time command change outcome:whole profile:secondary service:secondary method:secondary path:secondary
    email:secondary user_id:secondary status:integer:secondary request_id:secondary error:secondary
    id:hidden fields:strings:hidden values:open:hidden before:open:hidden next_step:hidden
  `),
  emptyText: 'No matching changes.',
}

/** Keys of settings that chatctl sent. */
export const sentKeysView = listView(
  'at:time id:whole command:secondary path before:any before_from after:any outcome',
  { emptyText: 'No changes of settings.' },
)

/** Keys of settings in the audit log. */
export const auditedKeysView: View = {
  ...sentKeysView,
  columns: plain('at:time actor path before:any after:any key_id:secondary request_id:secondary'),
}

/** Users as chatctl remembers them. */
export const knownUsersView = listView('email id:whole created_at:time source outcome', {
  emptyText: 'No users.',
})

interface SentChange {
  profile?: string | undefined
  method: string
  path: string
  email: string | null
  user_id: string | null
  fields: readonly string[]
  values?: unknown
  /** Not shown, as the others below. */
  sent?: unknown
  replaces?: unknown
  settledBy?: unknown
  position?: unknown
}

/** A change as the view shows it. */
export function shownChange<C extends SentChange>(entry: C) {
  const { sent: _, replaces: __, settledBy: ___, position: ____, profile = null, ...shown } = entry
  return { ...shown, profile, change: describeSent(entry) }
}

/** A change in one line: what it is about, and the values or the names of its fields. */
function describeSent({ method, path, email, user_id: user, fields, values }: SentChange): string {
  if (values !== undefined) {
    return leavesOf(values)
      .map(([leaf, value]) => `${leaf}: ${textOf(value)}`)
      .join('; ')
  }
  const about = [email, user].filter((part) => part !== null).join(' ')
  const names = fields.join(', ')
  return [about === '' ? `${method} ${path}` : about, names].filter((part) => part !== '').join(': ')
}
