import { managedFields } from '../../contract/managed-fields.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import type {
  PrintedDifferences,
  PrintedFieldChange,
  PrintedUser,
  UserCounts,
} from '../../view/user-differences.ts'
import { compareUser, type FieldDifference, type UserDifference } from '../compare-user.ts'
import { userOf, type WantedUser } from '../managed-fields.ts'
import type { Step } from '../rows/imported-user.ts'
import { type ImportedUser, stepsOf } from '../rows/imported-user.ts'
import type { StateEntry } from '../state/state-entry.ts'

export interface UsersPlan {
  /** All that differ, or whose difference is not known. */
  users: readonly PlannedUser[]
  /** Those that are applied. */
  planned: readonly PlannedUser[]
  /** In the state file, but not in the files. */
  unmanaged: readonly { email: string; id: string | undefined }[]
  counts: UserCounts
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

  constructor(choices: Partial<PlanChoices>) {
    this.#choices = choices
  }

  add(user: PlannedUser): void {
    const { action, fields } = user.difference
    this.counts[action === 'none' ? 'unchanged' : action]++
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
    return { users: this.#users, planned: this.#planned, unmanaged: left, counts: this.counts }
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

/** A user with a difference, and everything that applying it needs. */
export interface PlannedUser {
  wanted: WantedUser
  difference: UserDifference
  /** Hashes of the values that were last sent when the plan was made, by path. */
  hashes?: StateEntry['hashes']
}

export function isNewUser({ difference: { action } }: PlannedUser): boolean {
  return action !== 'change' && action !== 'adopt'
}

/**
 * What a service may replace as a whole: the keys of the metadata, those of the settings, or role and permissions
 * (docs/interface.md, "Endpoints", rule 3).
 */
export function groupOf(path: string): string {
  const [group = path] = path.split('.', 1)
  return group === 'role' || group === 'permissions' ? 'assignment' : group
}

/** The fields that differ, and the other managed fields of their groups. */
export function fieldsToSend({ wanted, difference }: PlannedUser): Map<string, unknown> {
  const groups = new Set(difference.fields.map(({ path }) => groupOf(path)))
  return new Map([...managedFields(wanted)].filter(([path]) => groups.has(groupOf(path))))
}

/** A user with the requests that it needs. */
export interface UserSteps {
  row: ImportedUser
  steps: readonly Step[]
}

/**
 * @param fields that are sent
 * @param id undefined for a user to create
 */
export function stepsFor(
  fields: ReadonlyMap<string, unknown>,
  { email, id }: { email: string; id: string | undefined },
): UserSteps {
  const row = { ...userOf(fields), ...(id === undefined ? { email } : { id }) }
  return { row, steps: stepsOf(row) }
}

/** The requests that applying a user sends, without the reads. */
export function plannedSteps(planned: PlannedUser): UserSteps & UserDifference {
  const { difference } = planned
  const { email } = difference
  const id = isNewUser(planned) ? undefined : difference.id
  return { ...difference, id, ...stepsFor(fieldsToSend(planned), { email, id }) }
}
