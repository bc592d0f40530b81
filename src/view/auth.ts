import { type View, valueAt } from './view.ts'

export const authStatusView: View = {
  layout: 'pairs',
  columns: [
    { path: 'profile' },
    { path: 'base_url' },
    { path: 'service' },
    { path: 'credential' },
    { path: 'reason' },
    { path: 'kind' },
    { path: 'storage' },
    { path: 'expires_at', time: true },
    { path: 'scope' },
    { path: 'verified' },
    { path: 'user.id' },
    { path: 'user.email' },
    { path: 'user.name' },
  ],
}

export const loginView: View = {
  layout: 'pairs',
  columns: [
    { path: 'profile' },
    { path: 'base_url' },
    { path: 'kind' },
    { path: 'storage' },
    { path: 'expires_at', time: true },
    { path: 'scope' },
    { path: 'verified' },
    { path: 'user.id' },
    { path: 'user.email' },
    { path: 'user.name' },
  ],
}

/** A profile, and what it is signed in with. */
export const signInsView: View = {
  layout: 'records',
  columns: [
    { path: 'profile' },
    { path: 'origin' },
    { path: 'kind' },
    { path: 'storage' },
    { path: 'expires_at', time: true },
    { path: 'default' },
  ],
}

/** What was signed out. */
export const logoutView: View = {
  layout: 'records',
  columns: [{ path: 'profile' }, { path: 'origin' }, { path: 'signed_out' }, { path: 'revoked' }],
}

/** A credential for another program: the one place that shows one. */
export const tokenView: View = {
  layout: 'pairs',
  columns: [{ path: 'token' }, { path: 'kind' }, { path: 'expires_at', time: true }],
  text: (body) => String(valueAt(body, 'token')),
}
