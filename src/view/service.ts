import { leavesOf, plain, textOf, type View, valueAt } from './format/view.ts'

export const serviceStatusView: View = {
  layout: 'pairs',
  columns: [
    ...plain('data', 'database', 'schema_version', 'users', 'conversations', 'messages', 'keys'),
    ...plain('running.url', 'running.pid', 'running.health', 'running.admin_url', 'running.version'),
    { path: 'running.started_at', time: true },
    ...plain('running.uptime_seconds', 'also_running'),
  ],
}

const keyRights: View['columns'] = [
  { path: 'user_id', secondary: true },
  ...plain('user_email', 'permissions'),
  { path: 'expires_at', time: true },
]

/** Used by `service keys list`, `service keys revoke`, and `service keys update`. */
export const keyView: View = {
  layout: 'records',
  emptyText: 'No API keys. Create one with: chatctl service keys create NAME',
  columns: [
    { path: 'id', whole: true },
    ...plain('name', 'tier', 'limit'),
    { path: 'created_at', time: true, secondary: true },
    { path: 'last_used_at', time: true },
    { path: 'revoked_at', time: true },
    ...keyRights,
  ],
}

/** A new key, which is never shown again. */
export const newKeyView: View = {
  layout: 'records',
  columns: [
    { path: 'id', whole: true },
    ...plain('name', 'tier', 'limit'),
    { path: 'key', whole: true },
    ...keyRights,
  ],
}

/** A new key, and the one that it replaces. */
export const rotatedKeyView: View = {
  ...newKeyView,
  columns: [
    ...newKeyView.columns,
    { path: 'replaces.id', whole: true },
    { path: 'replaces.expires_at', time: true },
    { path: 'replaces.revoked_at', time: true },
    { path: 'replaces.name', hidden: true },
  ],
}

/** Trusts in issuers. Used by `service trust create`, `service trust list`, and `service trust revoke`. */
export const trustView: View = {
  layout: 'records',
  emptyText: 'No trusts. Create one with: chatctl service trust create NAME',
  columns: [
    { path: 'id', secondary: true },
    { path: 'name', whole: true },
    ...plain('issuer', 'audience', 'subject', 'permissions'),
    { path: 'user_id', secondary: true },
    ...plain('user_email', 'tier', 'limit', 'expires_in'),
    { path: 'created_at', time: true, secondary: true },
    { path: 'last_used_at', time: true },
  ],
}

/** Used by `service admin create`, `service users list`, and `service users reset`. */
export const userListView: View = {
  layout: 'records',
  emptyText: 'No users.',
  columns: [
    { path: 'id', whole: true },
    ...plain('email', 'name', 'role'),
    { path: 'created_at', time: true },
  ],
}

export const backupView: View = {
  layout: 'records',
  columns: [{ path: 'file' }, { path: 'bytes' }, { path: 'schema_version' }],
}

export const restoredView: View = {
  layout: 'records',
  columns: [{ path: 'data' }, { path: 'restored_from' }, { path: 'kept' }, { path: 'schema_version' }],
}

/** Sign-in sessions. Used by `service sessions list` and `service sessions revoke`. */
export const signInSessionsView: View = {
  layout: 'records',
  emptyText: 'No sign-in sessions.',
  columns: [
    { path: 'id', whole: true },
    ...plain('kind', 'email', 'scope'),
    { path: 'created_at', time: true },
    { path: 'last_used_at', time: true },
    { path: 'expires_at', time: true },
    ...plain('address', 'agent'),
  ],
}

/** The address of a service that is ready. Used by `service run` and `service status`. */
export const serviceUrlView: View = {
  layout: 'records',
  columns: [{ path: 'url' }, { path: 'public_url' }, { path: 'pid' }, { path: 'admin_url' }],
  text: (body) => String(valueAt(body, 'url')),
}

/** Entries of the audit log. */
export const auditView: View = {
  layout: 'records',
  emptyText: 'No matching entries.',
  columns: [
    { path: 'at', time: true },
    ...plain('actor', 'action'),
    { path: 'target', whole: true },
    { path: 'change' },
    { path: 'key_id', secondary: true },
    { path: 'request_id', secondary: true },
    { path: 'before', open: true, hidden: true },
    { path: 'after', open: true, hidden: true },
  ],
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
  const leaves = leavesOf(value, '').map(([path, leaf]) => [path, textOf(leaf)] as const)
  return new Map(leaves.filter(([, text]) => text !== ''))
}
