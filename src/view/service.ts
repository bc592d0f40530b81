import { type View, valueAt } from './view.ts'

export const serviceStatusView: View = {
  layout: 'pairs',
  columns: [
    { path: 'data' },
    { path: 'database' },
    { path: 'schema_version' },
    { path: 'users' },
    { path: 'contexts' },
    { path: 'messages' },
    { path: 'keys' },
    { path: 'running.url' },
    { path: 'running.pid' },
    { path: 'running.health' },
    { path: 'running.admin_url' },
    { path: 'running.version' },
    { path: 'running.started_at', time: true },
    { path: 'running.uptime_seconds' },
    { path: 'also_running' },
  ],
}

export const keyView: View = {
  layout: 'records',
  emptyText: 'No API keys. Create one with: chatctl service keys create --name NAME',
  columns: [
    { path: 'id', whole: true },
    { path: 'name' },
    { path: 'tier' },
    { path: 'limit' },
    { path: 'created_at', time: true, secondary: true },
    { path: 'last_used_at', time: true },
    { path: 'revoked_at', time: true },
    { path: 'user_id', secondary: true },
    { path: 'user_email' },
    { path: 'permissions' },
    { path: 'expires_at', time: true },
  ],
}

/** A new key, which is never shown again. */
export const newKeyView: View = {
  layout: 'records',
  columns: [
    { path: 'id', whole: true },
    { path: 'name' },
    { path: 'tier' },
    { path: 'limit' },
    { path: 'key', whole: true },
    { path: 'user_id', secondary: true },
    { path: 'user_email' },
    { path: 'permissions' },
    { path: 'expires_at', time: true },
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

/** Trusts in issuers of identity tokens. */
export const trustView: View = {
  layout: 'records',
  emptyText: 'No trusts. Create one with: chatctl service trust create NAME',
  columns: [
    { path: 'id', secondary: true },
    { path: 'name', whole: true },
    { path: 'issuer' },
    { path: 'audience' },
    { path: 'subject' },
    { path: 'permissions' },
    { path: 'user_id', secondary: true },
    { path: 'user_email' },
    { path: 'tier' },
    { path: 'limit' },
    { path: 'expires_in' },
    { path: 'created_at', time: true, secondary: true },
    { path: 'last_used_at', time: true },
  ],
}

export const userListView: View = {
  layout: 'records',
  emptyText: 'No users.',
  columns: [
    { path: 'id', whole: true },
    { path: 'email' },
    { path: 'name' },
    { path: 'role' },
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

/** Sign-ins through the browser. */
export const signInSessionsView: View = {
  layout: 'records',
  emptyText: 'No browser sign-ins.',
  columns: [
    { path: 'id', whole: true },
    { path: 'kind' },
    { path: 'email' },
    { path: 'scope' },
    { path: 'created_at', time: true },
    { path: 'last_used_at', time: true },
    { path: 'expires_at', time: true },
    { path: 'address' },
    { path: 'agent' },
  ],
}

/** The address of a service that is ready. */
export const serviceUrlView: View = {
  layout: 'records',
  columns: [{ path: 'url' }, { path: 'public_url' }, { path: 'pid' }, { path: 'admin_url' }],
  text: (body) => String(valueAt(body, 'url')),
}
