import { leavesOf, valueAt } from '../contract/notation/tree.ts'
import { countOf } from './format/quantities.ts'
import { documentView, listView, pairsView, plain, recordsView, textOf, type View } from './format/view.ts'

export const serviceStatusView = pairsView(`
  data database schema_version:integer users:integer conversations:integer messages:integer keys:integer
  running.url running.pid:integer running.health running.admin_url running.version running.started_at:time
  running.uptime_seconds:integer also_running:strings
`)

const keyRights = 'user_id:secondary user_email permissions:strings expires_at:time'

/** Used by `service keys list`, `service keys revoke`, and `service keys update`. */
export const keyView: View = {
  ...recordsView(`
    id:whole name tier limit:integer created_at:time:secondary last_used_at:time revoked_at:time
    ${keyRights} prefix:hidden
  `),
  emptyText: 'No API keys. Create one with: chatctl service keys create NAME',
}

/** A new key, which is never shown again. */
export const newKeyView = recordsView(`
  id:whole name tier limit:integer key:whole ${keyRights} created_at:time:hidden
`)

export const rotatedKeyView: View = {
  ...newKeyView,
  columns: [
    ...newKeyView.columns,
    ...plain('replaces.id:whole replaces.expires_at:time replaces.revoked_at:time replaces.name:hidden'),
  ],
}

/** Trusts in issuers. Used by `service trust create`, `service trust list`, and `service trust revoke`. */
export const trustView: View = {
  ...recordsView(`
    id:secondary name:whole issuer audience subject permissions:strings user_id:secondary user_email tier
    limit:integer expires_in:integer created_at:time:secondary last_used_at:time
  `),
  emptyText: 'No trusts. Create one with: chatctl service trust create NAME',
}

/** Used by `service admin create`, `service users list`, and `service users reset`. */
export const userListView = recordsView('id:whole email name role created_at:time disabled_at:time', {
  emptyText: 'No users.',
})

/** One user. Used by `service users show`, `service users disable`, `service users enable`, and `service users delete`. */
export const userDetailsView = pairsView(`
  id email name role permissions:strings metadata:open created_at:time updated_at:time disabled_at:time
  has_password:boolean second_factor:boolean last_used_at:time keys:integer trusts:integer
  sign_in_sessions:integer conversations:integer messages:integer audit_subject
`)

export const userExportView: View = {
  ...documentView,
  json: 'columns',
  columns: plain(
    'exported_at:time user:open preferences:open keys:objects trusts:objects sign_in_sessions:objects',
    'conversations:objects messages:objects audit_log:objects',
  ),
}

export const offboardView = listView('step credentials:integer services:strings file audit_subject')

/** A user in a question: `ada@example.com (3 API keys, 0 trusts, 1 conversation)`. */
export function describeUser(user: Record<'keys' | 'trusts' | 'conversations', number> & { email: string }) {
  const [keys, trusts] = [countOf(user.keys, 'API key'), countOf(user.trusts, 'trust')]
  return `${user.email} (${keys}, ${trusts}, ${countOf(user.conversations, 'conversation')})`
}

export const backupView = recordsView('file bytes:integer schema_version:integer')

export const migratedView = recordsView(`
  database from:integer to:integer bytes_before:integer bytes_after:integer milliseconds:integer backup
`)

export const restoredView = recordsView('data restored_from kept schema_version:integer')

/** Sign-in sessions. Used by `service sessions list` and `service sessions revoke`. */
export const signInSessionsView: View = {
  ...recordsView(`
    id:whole kind email scope created_at:time last_used_at:time expires_at:time address agent user_id:hidden
  `),
  emptyText: 'No sign-in sessions.',
}

/** The address of a service that is ready. Used by `service run` and `service status`. */
export const serviceUrlView = recordsView('url public_url pid:integer admin_url', {
  text: (body) => String(valueAt(body, 'url')),
})

export const auditView: View = {
  ...listView(`
    at:time actor action target:whole change key_id:secondary request_id:secondary before:open:hidden
    after:open:hidden
  `),
  emptyText: 'No matching entries.',
}

/** A change in one line: `role: member → editor; name: Ada`. A removed value is `name: Ada → none`. */
export function describeChange(before: unknown, after: unknown): string {
  const [old, now] = [textsOf(before), textsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => {
      const [was, is = 'none'] = [old.get(path), now.get(path)]
      return was === undefined ? `${path}: ${is}` : `${path}: ${was} → ${is}`
    })
    .join('; ')
}

function textsOf(value: unknown): Map<string, string> {
  const leaves = leavesOf(value).map(([path, leaf]) => [path, textOf(leaf)] as const)
  return new Map(leaves.filter(([, text]) => text !== ''))
}
