import { isRecord } from '../contract/exact-json.ts'
import type { PrintedDifferences, PrintedFieldChange, PrintedUser } from '../view/user-differences.ts'
import type { UsersPlan } from './apply/users-plan.ts'
import type { FieldDifference, UserDifference } from './user-difference.ts'

/** A comparison as commands print it. */
export function printedDifferences(
  { users, unmanaged, counts }: Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>,
  { service, state }: { service: string; state: string },
): PrintedDifferences {
  return {
    service,
    state,
    users: users.flatMap(({ difference }) => printedUser(difference) ?? []),
    unmanaged: unmanaged.map(({ email, id }) => ({ email, id: id ?? null })),
    counts,
  }
}

/** A difference as commands print it; undefined if there is none. Values that look like secrets are hidden. */
function printedUser({ email, id, action, fields, error }: UserDifference): PrintedUser | undefined {
  if (action === 'none' || action === 'unread') return undefined
  return {
    email,
    id: id ?? null,
    action,
    changes: fields.map(printedChange),
    ...(error && { error: { code: error.code, message: error.message } }),
  }
}

function printedChange({ path, from, to, basis, drifted }: FieldDifference): PrintedFieldChange {
  return {
    path,
    from: hideSecrets(path, from ?? null),
    to: hideSecrets(path, to ?? null),
    ...(basis !== 'service' && { compared_with: basis }),
    ...(drifted && { drifted }),
  }
}

const secretName = /pass(word|wd|phrase)|secret|token|credential|keys?$/i

/** The value of a field without secrets. */
export function hideSecrets(name: string, value: unknown): unknown {
  if (value === null) return null
  if (secretName.test(name)) return '(hidden)'
  if (Array.isArray(value)) return value.map((item) => hideSecrets('', item))
  // An exact number is no record.
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hideSecrets(key, inner)]))
}
