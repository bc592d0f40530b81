import { expandPath } from '../../client/network/address.ts'
import { endpoints } from '../../contract/endpoints.ts'
import type {
  AssignPermissionsRequest,
  CreateUserRequest,
  UpdateUserRequest,
} from '../../contract/resources/user.ts'
import type { UserDifference } from '../compare-user.ts'
import { managedFields, userOf, type WantedUser } from '../managed-fields.ts'
import type { PlannedRequest } from '../planned-work.ts'
import { definedOnly } from '../send/send-row.ts'
import type { StateEntry } from '../state/state-entry.ts'

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

/** The number of requests that change something, and the first of them. */
export interface PlannedRequests {
  total: number
  first: readonly PlannedRequest[]
}

/**
 * The requests that applying users sends, without the reads.
 *
 * @param limit maximum number of first requests
 */
export function plannedRequests(
  planned: readonly PlannedUser[],
  { generatesPasswords, limit }: { generatesPasswords: boolean; limit: number },
): PlannedRequests {
  const first: PlannedRequest[] = []
  let total = 0
  for (const user of planned) {
    const { email, id, file, line } = user.difference
    const isNew = isNewUser(user)
    const { create, update, assign } = requestsFor(fieldsToSend(user), isNew ? email : undefined)
    const add = (endpoint: { method: string; path: string }, body: object | undefined, isCreate = false) => {
      if (!body) return
      total++
      if (first.length >= limit) return
      const { method, path: template } = endpoint
      const path = isNew || id === undefined ? template : expandPath(template, { id })
      first.push({ file, line, method, path, body, generatesPassword: isCreate && generatesPasswords })
    }
    add(endpoints.createUser, create, true)
    add(endpoints.updateUser, update)
    add(endpoints.assignPermissions, assign)
  }
  return { total, first }
}
