import { mapInOrder } from '../../bulk/send/concurrency.ts'
import { ServiceHealth } from '../../bulk/send/send-change.ts'
import type { Throttle } from '../../bulk/send/throttle.ts'
import type { Client } from '../../client/client.ts'
import { expandPath } from '../../client/network/address.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import { afterColon, Failure } from '../../contract/failure.ts'
import type { User } from '../../contract/resources/user.ts'

export interface RequestedId {
  id: string
  /** Where the id comes from, for the error about an invalid id. */
  place?: string
  /** Why nothing is requested. `id` then only names the user in errors. */
  failure?: Failure
}

export type UserResult<T extends RequestedId = RequestedId> = { id: string; requested: T } & (
  | { response: ApiResponse<User> }
  | { failure: Failure }
)

/** @throws Failure `refused` for an id that would change the path, or is empty */
export function checkId({ id, place }: RequestedId): void {
  try {
    expandPath('{id}', { id })
  } catch (error) {
    if (!(error instanceof Failure) || place === undefined) throw error
    throw new Failure(error.kind, `${place}: ${afterColon(error.message)}`, { cause: error })
  }
}

/**
 * Reads users concurrently and yields the results in the order of the ids. A failure is a result too.
 * @throws Failure if all further requests would fail too, or for an invalid id
 */
export function getUsers<T extends RequestedId>(
  ids: Iterable<T> | AsyncIterable<T>,
  { client, throttle, concurrency }: { client: Client; throttle: Throttle; concurrency: number },
): AsyncIterable<UserResult<T>> {
  const health = new ServiceHealth()
  return mapInOrder(ids, concurrency, async (requested): Promise<UserResult<T>> => {
    const { id, failure } = requested
    if (failure) return { id, requested, failure }
    checkId(requested)
    try {
      const response = await throttle.through(() => client.users.get(id))
      health.succeeded()
      return { id, requested, response }
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      health.failed(failure)
      return { id, requested, failure }
    }
  })
}
