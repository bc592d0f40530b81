import { hash } from 'node:crypto'
import { canonicalJson } from './notation/exact-json.ts'

export const metadataPrefix = 'metadata.'
export const settingsPrefix = 'settings.'

/**
 * The managed fields of a user by path, in the order in which they are shown: `name`, `metadata.KEY`,
 * `settings.KEY`, `role`, and `permissions`. A key of the metadata may contain dots, and its value is one value,
 * even if it is an object.
 */
export function managedFields(
  user: Partial<Record<'name' | 'role' | 'permissions', unknown>> & {
    metadata?: object | undefined
    settings?: object | undefined
  },
): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  if (user.name !== undefined) fields.set('name', user.name)
  for (const [key, value] of Object.entries(user.metadata ?? {})) fields.set(metadataPrefix + key, value)
  for (const [key, value] of Object.entries(user.settings ?? {})) fields.set(settingsPrefix + key, value)
  if (user.role !== undefined) fields.set('role', user.role)
  if (user.permissions !== undefined) fields.set('permissions', user.permissions)
  return fields
}

/**
 * Whether two values of a field are equal. Permissions are a set. Null equals no value, because a service may
 * remove a key that is set to null.
 */
export function isSameField(path: string, one: unknown, other: unknown): boolean {
  return one === other || canonicalField(path, one) === canonicalField(path, other)
}

/** 11 characters: the first 64 bits of SHA-256. The ledger and the state file contain it instead of the value. */
export function hashOfField(path: string, value: unknown): string {
  return hash('sha256', canonicalField(path, value), 'base64url').slice(0, 11)
}

function canonicalField(path: string, value: unknown): string {
  if (path === 'permissions' && Array.isArray(value)) return canonicalJson([...new Set(value)].sort())
  return canonicalJson(value ?? null)
}
