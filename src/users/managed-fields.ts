import { hash } from 'node:crypto'
import { canonicalJson, isRecord } from '../contract/notation/exact-json.ts'
import type { ImportedUser } from './rows/imported-user.ts'

/** A user as the files describe it. Only the fields that it has are managed. */
export type WantedUser = Omit<ImportedUser, 'id' | 'password'> & { email: string }

/** The fields of a user that the files can manage. */
type ManagedUser = Omit<WantedUser, 'email'>

/** Fields that no request can read (docs/interface.md, "Endpoints"). */
const unreadable: readonly string[] = ['role', 'permissions']

export function isReadable(path: string): boolean {
  return !unreadable.includes(path)
}

const metadataPrefix = 'metadata.'
const settingsPrefix = 'settings.'

/**
 * The managed fields of a user by path, in the order in which they are shown: `name`, `metadata.KEY`,
 * `settings.KEY`, `role`, and `permissions`. A key of the metadata may contain dots, and its value is one value,
 * even if it is an object.
 */
export function managedFields(user: ManagedUser): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  if (user.name !== undefined) fields.set('name', user.name)
  for (const [key, value] of Object.entries(user.metadata ?? {})) fields.set(metadataPrefix + key, value)
  for (const [key, value] of Object.entries(user.settings ?? {})) fields.set(settingsPrefix + key, value)
  if (user.role !== undefined) fields.set('role', user.role)
  if (user.permissions !== undefined) fields.set('permissions', user.permissions)
  return fields
}

/** The inverse of `managedFields`. */
export function userOf(fields: ReadonlyMap<string, unknown>): ManagedUser {
  const user: Record<string, unknown> = {}
  const metadata: [string, unknown][] = []
  const settings: [string, unknown][] = []
  for (const [path, value] of fields) {
    if (path.startsWith(metadataPrefix)) metadata.push([path.slice(metadataPrefix.length), value])
    else if (path.startsWith(settingsPrefix)) settings.push([path.slice(settingsPrefix.length), value])
    else user[path] = value
  }
  // Object.fromEntries defines a property of any name, even `__proto__`.
  if (metadata.length > 0) user['metadata'] = Object.fromEntries(metadata)
  if (settings.length > 0) user['settings'] = Object.fromEntries(settings)
  return user
}

/**
 * The value that a user in a response has at the path of a readable field; undefined if it has none. The response
 * may have other types than the documented ones.
 */
export function readField(user: Readonly<Record<string, unknown>>, path: string): unknown {
  for (const prefix of [metadataPrefix, settingsPrefix]) {
    if (!path.startsWith(prefix)) continue
    const group = user[prefix.slice(0, -1)]
    const key = path.slice(prefix.length)
    return isRecord(group) && Object.hasOwn(group, key) ? group[key] : undefined
  }
  return Object.hasOwn(user, path) ? user[path] : undefined
}

/**
 * Whether two values of a field are equal. Permissions are a set. Null equals no value, because a service may
 * remove a key that is set to null.
 */
export function isSameField(path: string, one: unknown, other: unknown): boolean {
  return one === other || canonicalField(path, one) === canonicalField(path, other)
}

/** 11 characters: the first 64 bits of SHA-256. The state file contains it instead of the value. */
export function hashOfField(path: string, value: unknown): string {
  return hash('sha256', canonicalField(path, value), 'base64url').slice(0, 11)
}

function canonicalField(path: string, value: unknown): string {
  if (path === 'permissions' && Array.isArray(value)) return canonicalJson([...new Set(value)].sort())
  return canonicalJson(value ?? null)
}

export function hashesExcept(
  hashes: Readonly<Record<string, string>>,
  isRemoved: (path: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(hashes).filter(([path]) => !isRemoved(path)))
}
