import { hideSecrets } from '../contract/secret-fields.ts'
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
    from: hideSecrets(from ?? null, path),
    to: hideSecrets(to ?? null, path),
    ...(basis !== 'service' && { compared_with: basis }),
    ...(drifted && { drifted }),
  }
}
