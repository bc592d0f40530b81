import { expandPath } from '../../client/address.ts'
import type { Client } from '../../client/client.ts'
import type { ApiResponse } from '../../client/response.ts'
import { afterColon, Failure } from '../../contract/failure.ts'
import type { User } from '../../contract/user.ts'
import { mapInOrder } from './map-in-order.ts'
import { ServiceHealth } from './service-health.ts'
import type { Throttle } from './throttle.ts'

export interface AskedId {
  id: string
  /** Where it stands, in words, for an id that none can be. */
  place?: string
}

export type Got = { id: string; answer: ApiResponse<User> } | { id: string; failure: Failure }

/** @throws Failure `refused` for an id that names another resource or none */
export function checkId({ id, place }: AskedId): void {
  try {
    expandPath('{id}', { id })
  } catch (error) {
    if (!(error instanceof Failure) || place === undefined) throw error
    throw new Failure(error.kind, `${place}: ${afterColon(error.message)}`, { cause: error })
  }
}

/**
 * Reads users in the order of their ids, so many at a time. One that fails is a result too.
 * @throws Failure where the rest would fail like it, or an id is none
 */
export function getUsers(
  ids: Iterable<AskedId> | AsyncIterable<AskedId>,
  { client, throttle, concurrency }: { client: Client; throttle: Throttle; concurrency: number },
): AsyncIterable<Got> {
  const health = new ServiceHealth()
  return mapInOrder(ids, concurrency, async (asked): Promise<Got> => {
    checkId(asked)
    const { id } = asked
    try {
      const answer = await throttle.through(() => client.users.get(id))
      health.took()
      return { id, answer }
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      health.failed(failure)
      return { id, failure }
    }
  })
}
