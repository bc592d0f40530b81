import type { View } from './view.ts'

export const userView: View = {
  layout: 'records',
  columns: [
    { path: 'id', whole: true },
    { path: 'email' },
    { path: 'name' },
    { path: 'created_at', time: true },
    { path: 'metadata', open: true },
    { path: 'settings', open: true },
  ],
}

/** A new user with a generated password, which is never shown again. */
export const newUserView: View = {
  ...userView,
  columns: [...userView.columns, { path: 'generated_password' }],
}

/** Users that were added to a state file. */
export const adoptedUsersView: View = {
  layout: 'records',
  columns: [
    { path: 'email' },
    { path: 'id', whole: true },
    { path: 'status' },
    { path: 'previous', secondary: true },
  ],
}

export const permissionsView: View = {
  layout: 'records',
  columns: [{ path: 'id', whole: true }, { path: 'role' }, { path: 'permissions' }],
}

export const profileView: View = {
  layout: 'pairs',
  columns: [
    { path: 'id', whole: true },
    { path: 'email' },
    { path: 'name' },
    { path: 'created_at', time: true },
    { path: 'preferences', open: true },
  ],
}

export const userSettingsView: View = {
  layout: 'pairs',
  columns: [{ path: 'success' }, { path: 'settings', open: true }],
}
