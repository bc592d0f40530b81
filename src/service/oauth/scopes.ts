import { alwaysGranted, covers } from '../domain/access/permissions.ts'

interface Scope {
  /** Shown on the consent page. */
  description: string
  /** Patterns for `covers`. A token never has more permissions than its user. */
  permissions: readonly string[]
}

/**
 * docs/interface.md, "Authentication", defines only `chat:write`. docs/reference/service-oauth.md shows the
 * same table.
 */
export const scopes: Readonly<Record<string, Scope>> = {
  'chat:read': { description: 'Read your conversations and list models', permissions: ['read:chat'] },
  'chat:write': { description: 'Chat as you and read your conversations', permissions: ['*:chat'] },
  'profile:write': { description: 'Change your preferences', permissions: ['*:profile'] },
  'settings:read': { description: 'Read the settings of the service', permissions: ['read:settings'] },
  'settings:write': {
    description: 'Change the settings of the service and its API configuration',
    permissions: ['*:settings', '*:api'],
  },
  'users:read': { description: 'Read users', permissions: ['read:users'] },
  'users:write': {
    description: 'Create and change users and their permissions',
    permissions: ['*:users', '*:permissions'],
  },
  admin: { description: 'Do everything that you are allowed to do', permissions: ['*:*'] },
}

/** The scope of a request without one. */
export const defaultScope = 'chat:write'

/** The names in a `scope` (RFC 6749 section 3.3). */
export const scopeNames = (scope: string): string[] => scope.split(' ').filter((name) => name !== '')

export const unknownScopes = (scope: string): string[] =>
  scopeNames(scope).filter((name) => !Object.hasOwn(scopes, name))

export const permissionsOf = (names: readonly string[]): string[] => [
  alwaysGranted,
  ...names.flatMap((name) => scopes[name]?.permissions ?? []),
]

/** The scopes that grant a permission, the narrowest first. */
export const scopesGranting = (permission: string): string[] =>
  Object.keys(scopes).filter((name) => covers(scopes[name]?.permissions ?? [], permission))
