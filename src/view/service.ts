import { type View, valueAt } from './view.ts'

export const serviceStatusView: View = {
  layout: 'pairs',
  columns: [
    { path: 'data' },
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
    { path: 'running.started_at' },
    { path: 'running.uptime' },
    { path: 'database' },
  ],
}

export const keyView: View = {
  layout: 'records',
  columns: [
    { path: 'id' },
    { path: 'name' },
    { path: 'tier' },
    { path: 'limit' },
    { path: 'created_at' },
    { path: 'last_used_at' },
    { path: 'revoked_at' },
  ],
}

/** A new key is shown this once. */
export const newKeyView: View = {
  layout: 'records',
  columns: [{ path: 'id' }, { path: 'name' }, { path: 'tier' }, { path: 'limit' }, { path: 'key' }],
}

/** Where a service that is now ready can be reached. */
export const serviceUrlView: View = {
  layout: 'records',
  columns: [{ path: 'url' }, { path: 'pid' }, { path: 'admin_url' }],
  text: (body) => String(valueAt(body, 'url')),
}
