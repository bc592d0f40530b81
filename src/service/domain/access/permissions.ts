import type { EndpointName } from '../../../contract/endpoints.ts'

/** `<action>:<resource>`; either may be `*` where rights are granted, never where they are asked for. */
export type Permission =
  `${'read' | 'write' | 'assign'}:${'chat' | 'profile' | 'settings' | 'api' | 'users' | 'permissions'}`

/** What each endpoint asks for. docs/reference/service.md shows the same table. */
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

const required = [...new Set(Object.values(requiredPermissions))].map((permission) => permission.split(':'))

/** Every permission that some endpoint asks for, and every pattern that stands for some of them. */
export const knownPermissions: readonly string[] = [
  ...new Set(
    ['*', ...required.map(([action]) => action)].flatMap((action) =>
      ['*', ...required.map(([, resource]) => resource)]
        .filter((resource) =>
          required.some((one) => [one[0], '*'].includes(action) && [one[1], '*'].includes(resource)),
        )
        .map((resource) => `${action}:${resource}`),
    ),
  ),
]

/** What a role carries by itself; permissions that were assigned come on top. */
const rolePermissions = {
  admin: ['*:*'],
  editor: ['*:chat', '*:profile', '*:settings', 'read:users'],
  member: ['*:chat', '*:profile', 'read:settings'],
} as const

export type Role = keyof typeof rolePermissions

/** The role's permissions and those assigned beyond them. A role that is unknown carries nothing. */
export function effectivePermissions(role: string, assigned: readonly string[]): string[] {
  const ofRole = Object.hasOwn(rolePermissions, role) ? rolePermissions[role as Role] : []
  return [...ofRole, ...assigned]
}

/** Whom keys made on the machine act as; the first migration makes this user. */
export const adminId = 'usr_admin'

/** The same of a user. The built-in admin may do everything, whatever is assigned: nobody can lock the machine out. */
export const userPermissions = (id: string, role: string, assigned: readonly string[]): string[] =>
  id === adminId ? [...rolePermissions.admin] : effectivePermissions(role, assigned)

/**
 * Whether what was granted includes a permission, or all of what a pattern such as `read:*` stands
 * for.
 */
export function covers(granted: readonly string[], wanted: string): boolean {
  const [action, resource] = wanted.split(':')
  return granted.some((grant) => {
    const [grantedAction, grantedResource] = grant.split(':')
    return (
      (grantedAction === '*' || grantedAction === action) &&
      (grantedResource === '*' || grantedResource === resource)
    )
  })
}

/** Whom a credential acts for may always be asked with it, whatever else it is bound to. */
export const alwaysGranted = 'read:profile' satisfies Permission

/** The user and the credential that a request acts for, and what they may do. */
export interface Principal {
  /** The id that is counted, logged, and audited: of an API key, `oauth:<user id>` for a token, or `process`. */
  keyId: string
  userId: string
  /** Whether the user and the credential both have a permission, or everything that a pattern such as `read:*` covers. */
  can(permission: string): boolean
  /** Why `can` is false, as the end of an error message. */
  denialReason(permission: string): string
  /** Requests per clock hour; null for no limit. */
  hourlyLimit: number | null
  /** False for a key of this process: its requests are not counted. */
  isRateLimited: boolean
}
