import type { PlannedRequest } from '../../bulk/planned-work.ts'
import { expandPath } from '../../client/address.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { fieldsToSend, isNewUser, type PlannedUser, requestsFor } from './planned-user.ts'

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
