import type { EndpointName } from '../../contract/endpoints.ts'

/** `<action>:<resource>`; either may be `*` where rights are granted, never where they are asked for. */
export type Permission =
  `${'read' | 'write' | 'assign'}:${'chat' | 'profile' | 'settings' | 'api' | 'users' | 'permissions'}`

/** What each endpoint asks for. docs/service.md shows the same table. */
export const requiredPermissions = {
  createCompletion: 'write:chat',
  listModels: 'read:chat',
  sendMessage: 'write:chat',
  listHistory: 'read:chat',
  getProfile: 'read:profile',
  updateUserSettings: 'write:profile',
  getSettings: 'read:settings',
  updateSettings: 'write:settings',
  getPreferences: 'read:profile',
  setApiConfiguration: 'write:api',
  createUser: 'write:users',
  getUser: 'read:users',
  updateUser: 'write:users',
  assignPermissions: 'assign:permissions',
} as const satisfies Record<EndpointName, Permission>

/** What a role carries by itself; permissions that were assigned come on top. */
export const rolePermissions = {
  admin: ['*:*'],
  editor: ['*:chat', '*:profile', '*:settings', 'read:users'],
  member: ['*:chat', '*:profile', 'read:settings'],
} as const

export type Role = keyof typeof rolePermissions

/** Whether what was granted includes a permission. */
export function includes(granted: readonly string[], wanted: Permission): boolean {
  const [action, resource] = wanted.split(':')
  return granted.some((grant) => {
    const [grantedAction, grantedResource] = grant.split(':')
    return (
      (grantedAction === '*' || grantedAction === action) &&
      (grantedResource === '*' || grantedResource === resource)
    )
  })
}
