import { leavesOf, plain, textOf, type View } from './format/view.ts'

/** Changes that chatctl sent. */
export const activityView: View = {
  layout: 'records',
  emptyText: 'No matching changes.',
  columns: [
    { path: 'at', time: true },
    { path: 'command' },
    { path: 'change' },
    { path: 'outcome', whole: true },
    { path: 'profile', secondary: true },
    { path: 'service', secondary: true },
    { path: 'method', secondary: true },
    { path: 'path', secondary: true },
    { path: 'email', secondary: true },
    { path: 'user_id', secondary: true },
    { path: 'status', secondary: true },
    { path: 'request_id', secondary: true },
    { path: 'error', secondary: true },
    { path: 'fields', hidden: true },
    { path: 'values', open: true, hidden: true },
    { path: 'next_step', hidden: true },
  ],
}

/** Keys of settings that chatctl sent. */
export const sentKeysView: View = {
  layout: 'records',
  emptyText: 'No changes of settings.',
  columns: [
    { path: 'at', time: true },
    { path: 'id', whole: true },
    { path: 'command', secondary: true },
    ...plain('path', 'before', 'after', 'outcome'),
  ],
}

/** Users as chatctl remembers them. */
export const knownUsersView: View = {
  layout: 'records',
  emptyText: 'No users.',
  columns: [
    { path: 'email' },
    { path: 'id', whole: true },
    { path: 'created_at', time: true },
    { path: 'source' },
    { path: 'outcome' },
  ],
}

interface SentChange {
  method: string
  path: string
  email: string | null
  user_id: string | null
  fields: readonly string[]
  values?: unknown
}

/** A change in one line: what it is about, and the values or the names of its fields. */
export function describeSent({ method, path, email, user_id: user, fields, values }: SentChange): string {
  if (values !== undefined) {
    return leavesOf(values, '')
      .map(([leaf, value]) => `${leaf}: ${textOf(value)}`)
      .join('; ')
  }
  const about = [email, user].filter((part) => part !== null).join(' ')
  const names = fields.join(', ')
  return [about === '' ? `${method} ${path}` : about, names].filter((part) => part !== '').join(': ')
}
