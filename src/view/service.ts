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

/** Sign-ins through the browser. */
export const sessionView: View = {
  layout: 'records',
  columns: [
    { path: 'id' },
    { path: 'kind' },
    { path: 'email' },
    { path: 'scope' },
    { path: 'created_at' },
    { path: 'last_used_at' },
    { path: 'expires_at' },
    { path: 'address' },
    { path: 'agent' },
  ],
}

/** Where a service that is now ready can be reached. */
export const serviceUrlView: View = {
  layout: 'records',
  columns: [{ path: 'url' }, { path: 'pid' }],
  text: (body) => String(valueAt(body, 'url')),
}
