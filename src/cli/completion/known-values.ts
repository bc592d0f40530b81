/**
 * Values of the embedded service; other services may have others (docs/interface.md, "User", shows none).
 * A test compares them with the service's own.
 */
export const roles = ['admin', 'editor', 'member'] as const
export const themeModes = ['light', 'dark', 'system'] as const

export const permissions = [
  '*:*',
  '*:api',
  '*:chat',
  '*:permissions',
  '*:profile',
  '*:settings',
  '*:users',
  'assign:*',
  'assign:permissions',
  'read:*',
  'read:chat',
  'read:profile',
  'read:settings',
  'read:users',
  'write:*',
  'write:api',
  'write:chat',
  'write:profile',
  'write:settings',
  'write:users',
] as const
