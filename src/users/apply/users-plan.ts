import { hideSecrets } from '../../contract/secret-fields.ts'
import type {
  PrintedDifferences,
  PrintedFieldChange,
  PrintedUser,
  UserCounts,
} from '../../view/user-differences.ts'
import { compareUser, type FieldDifference, type UserDifference } from '../compare-user.ts'
import type { StateEntry } from '../state/state-entry.ts'
import type { PlannedUser } from './planned-user.ts'

export interface UsersPlan {
  /** All that differ, or whose difference is not known. */
  users: readonly PlannedUser[]
  /** Those that are applied. */
  planned: readonly PlannedUser[]
  /** In the state file, but not in the files. */
  unmanaged: readonly { email: string; id: string | undefined }[]
  counts: UserCounts
  /** The number of users whose email in the files has another case than in the state file. */
  respelled: number
}

export interface PlanChoices {
  /** Whether users that no longer exist are created again. */
  recreateMissing: boolean
  /** Whether creates with an unknown outcome are sent again. */
  retryUnknown: boolean
}

/** Collects the users that differ. */
export class UsersPlanBuilder {
  readonly #choices: Partial<PlanChoices>
  readonly #users: PlannedUser[] = []
  readonly #planned: PlannedUser[] = []
  readonly counts: UserCounts = {
    create: 0,
    change: 0,
    adopt: 0,
    unchanged: 0,
    drifted: 0,
    missing: 0,
    unknown: 0,
    failed: 0,
    unread: 0,
    unmanaged: 0,
  }

  #respelled = 0

  constructor(choices: Partial<PlanChoices>) {
    this.#choices = choices
  }

  /** @param entry of the user, as it was compared */
  add(user: PlannedUser, entry: StateEntry | undefined): void {
    const { action, fields } = user.difference
    this.counts[action === 'none' ? 'unchanged' : action]++
    if (entry && entry.email !== user.wanted.email) this.#respelled++
    if (fields.some(({ drifted }) => drifted)) this.counts.drifted++
    if (action === 'none' || action === 'unread') return
    this.#users.push(user)
    if (action === 'create' || action === 'change' || action === 'adopt') this.#planned.push(user)
    if (action === 'missing' && this.#choices.recreateMissing) this.#planned.push(user)
    if (action === 'unknown' && this.#choices.retryUnknown && !user.difference.error) {
      const { fields } = compareUser(user.wanted, undefined, 'unread')
      this.#planned.push({ ...user, difference: { ...user.difference, fields } })
    }
  }

  finish(unmanaged: Iterable<Pick<StateEntry, 'email' | 'id'>>): UsersPlan {
    const left = Array.from(unmanaged, ({ email, id }) => ({ email, id }))
    this.counts.unmanaged = left.length
    return {
      users: this.#users,
      planned: this.#planned,
      unmanaged: left,
      counts: this.counts,
      respelled: this.#respelled,
    }
  }
}

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
