import { definedOnly } from '../../bulk/send/send-row.ts'
import type { AssignPermissionsRequest, CreateUserRequest, UpdateUserRequest } from '../../contract/user.ts'
import { managedFields, userOf, type WantedUser } from '../managed-fields.ts'
import type { StateEntry } from '../state/state-entry.ts'
import type { UserDifference } from '../user-difference.ts'

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

/** The requests of a user. They are sent in this order. */
export interface UserRequests {
  /** Without the password. */
  create: CreateUserRequest | undefined
  update: UpdateUserRequest | undefined
  assign: AssignPermissionsRequest | undefined
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

/** @param email of a user to create */
export function requestsFor(fields: ReadonlyMap<string, unknown>, email: string | undefined): UserRequests {
  const { name, metadata, settings, role, permissions } = userOf(fields)
  // A create request has no settings (docs/interface.md, "User").
  const update = email === undefined ? definedOnly({ name, metadata, settings }) : definedOnly({ settings })
  const assign = definedOnly({ permissions, role })
  return {
    create: email === undefined ? undefined : { email, ...definedOnly({ name, metadata }) },
    update: Object.keys(update).length > 0 ? update : undefined,
    assign: Object.keys(assign).length > 0 ? assign : undefined,
  }
}
