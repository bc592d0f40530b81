import type { ServedEndpointName } from '../../openai-endpoints.ts'

/** `<action>:<resource>`. In a granted permission, either may be `*`. */
export type Permission =
  `${'read' | 'write' | 'assign'}:${'chat' | 'profile' | 'settings' | 'api' | 'users' | 'permissions'}`

/** The permission that each endpoint requires. docs/reference/service.md shows the same table. */
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
  openAiCompletion: 'write:chat',
  openAiModels: 'read:chat',
  openAiModel: 'read:chat',
} as const satisfies Record<ServedEndpointName, Permission>

/** Every permission that an endpoint requires, and every pattern that covers some of them. */
export function listPermissions(): readonly string[] {
  const required = [...new Set(Object.values(requiredPermissions))].map((one) => one.split(':'))
  return [
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
}

/** The permissions of each role. Assigned permissions are added to them. */
const rolePermissions = {
  admin: ['*:*'],
  editor: ['*:chat', '*:profile', '*:settings', 'read:users'],
  member: ['*:chat', '*:profile', 'read:settings'],
} as const

export type Role = keyof typeof rolePermissions

/** The permissions of a role and the assigned ones. An unknown role has none. */
export function effectivePermissions(role: string, assigned: readonly string[]): string[] {
  const ofRole = Object.hasOwn(rolePermissions, role) ? rolePermissions[role as Role] : []
  return [...ofRole, ...assigned]
}

/** The built-in admin, whom keys act as by default. The first migration creates this user. */
export const adminId = 'usr_admin'

/** The permissions of a user. The built-in admin always has all, so that the machine cannot be locked out. */
export const userPermissions = (id: string, role: string, assigned: readonly string[]): string[] =>
  id === adminId ? [...rolePermissions.admin] : effectivePermissions(role, assigned)

/** Whether granted permissions cover a permission, or everything that a pattern such as `read:*` covers. */
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

/** Every credential may read the profile of its user. */
export const alwaysGranted = 'read:profile' satisfies Permission

/** The user and the credential that a request acts for, and what they may do. */
export interface Principal {
  /** The id that is counted, logged, and audited: of an API key, `oauth:<user id>` for a token, `trust:<name>` for one of a trust, or `process`. */
  keyId: string
  userId: string
  /** Whether the user and the credential both have a permission, or everything that a pattern such as `read:*` covers. */
  can(permission: string): boolean
  /** Why `can` is false, as the end of an error message. */
  denialReason(permission: string): string
  /** Requests per clock hour; null for no limit. */
  hourlyLimit: number | null
  /** When the credential ends, ISO 8601 UTC; null for never. */
  expiresAt: string | null
  /** The `source` of a token that is exchanged for it; null if it must not be exchanged. */
  source: string | null
  /** False for a key of this process: its requests are not counted. */
  isRateLimited: boolean
}
