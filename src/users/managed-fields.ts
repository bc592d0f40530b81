import { managedFields, metadataPrefix, settingsPrefix } from '../contract/managed-fields.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import type { User } from '../contract/resources/user.ts'
import type { ImportedUser } from './rows/imported-user.ts'

/** A user as the files describe it. Only the fields that it has are managed. */
export type WantedUser = Omit<ImportedUser, 'id' | 'password'> & { email: string }

/** Fields that no request can read (docs/interface.md, "Endpoints"). */
const unreadable: readonly string[] = ['role', 'permissions']

export function isReadable(path: string): boolean {
  return !unreadable.includes(path)
}

/** The fields of a user in a response that an update can send. */
export function updatableFields({ metadata, settings }: User): Map<string, unknown> {
  const { theme, notifications_enabled } = isRecord(settings) ? settings : {}
  const found = managedFields({
    ...(isRecord(metadata) && { metadata }),
    settings: {
      ...(typeof theme === 'string' && { theme }),
      ...(typeof notifications_enabled === 'boolean' && { notifications_enabled }),
    },
  })
  return new Map([...found].filter(([, value]) => value !== null))
}

/** The inverse of `managedFields`. */
export function userOf(fields: ReadonlyMap<string, unknown>): Omit<WantedUser, 'email'> {
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

export function hashesExcept(
  hashes: Readonly<Record<string, string>>,
  isRemoved: (path: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(hashes).filter(([path]) => !isRemoved(path)))
}
