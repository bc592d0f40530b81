import { carriedByAll, includes } from '../domain/access/permissions.ts'

interface Scope {
  /** What a person agrees to. */
  words: string
  /** As `includes` reads them; never more than the user's own. */
  permissions: readonly string[]
}

/**
 * docs/interface.md, "Authentication", names `chat:write` and leaves the rest open. docs/reference/service-oauth.md shows
 * the same table.
 */
export const scopes: Readonly<Record<string, Scope>> = {
  'chat:read': { words: 'Read your conversations and list models', permissions: ['read:chat'] },
  'chat:write': { words: 'Chat as you and read your conversations', permissions: ['*:chat'] },
  'profile:write': { words: 'Change your preferences', permissions: ['*:profile'] },
  'settings:read': { words: 'Read the settings of the service', permissions: ['read:settings'] },
  'settings:write': {
    words: 'Change the settings of the service and its API configuration',
    permissions: ['*:settings', '*:api'],
  },
  'users:read': { words: 'Read user accounts', permissions: ['read:users'] },
  'users:write': {
    words: 'Create and change user accounts and their permissions',
    permissions: ['*:users', '*:permissions'],
  },
  admin: { words: 'Do everything that you are allowed to do', permissions: ['*:*'] },
}

/** What a request without a scope asks for. */
export const standardScope = 'chat:write'

/** The names in a `scope` (RFC 6749 section 3.3). */
export const scopeNames = (scope: string): string[] => scope.split(' ').filter((name) => name !== '')

export const permissionsOf = (names: readonly string[]): string[] => [
  carriedByAll,
  ...names.flatMap((name) => scopes[name]?.permissions ?? []),
]

/** The scopes that carry a permission, the narrowest first. */
export const scopesWith = (permission: string): string[] =>
  Object.keys(scopes).filter((name) => includes(scopes[name]?.permissions ?? [], permission))
