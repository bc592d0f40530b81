import { mapInOrder } from '../../bulk/send/map-in-order.ts'
import { ServiceHealth } from '../../bulk/send/service-health.ts'
import type { Throttle } from '../../bulk/send/throttle.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import { compareUser, type UserReading } from '../compare-user.ts'
import type { UsersState } from '../state/users-state.ts'
import type { PlacedUser } from '../user-files.ts'
import type { PlannedUser } from './planned-user.ts'

export interface PlanUsersOptions {
  users: Pick<Users, 'get'>
  state: Pick<UsersState, 'find' | 'markWanted'>
  throttle: Throttle
  concurrency: number
  /** Whether each known user is read. Otherwise, the files are compared with the state file alone. */
  refresh: boolean
}

/**
 * Compares each user of the files with the service and the state file, concurrently, and yields the differences in
 * the order of the files.
 *
 * @throws Failure if all further requests would fail too
 */
export function planUsers(
  files: AsyncIterable<readonly PlacedUser[]>,
  { users, state, throttle, concurrency, refresh }: PlanUsersOptions,
): AsyncIterable<PlannedUser> {
  const health = new ServiceHealth()
  const read = async (id: string | undefined): Promise<UserReading> => {
    if (id === undefined || !refresh) return 'unread'
    try {
      const { body } = await throttle.through(() => users.get(id))
      health.succeeded()
      return { user: body ?? {} }
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      if (failure.status === 404) return 'missing'
      health.failed(failure)
      return { failure }
    }
  }
  async function* placed() {
    for await (const batch of files) yield* batch
  }
  return mapInOrder(placed(), concurrency, async ({ user, file, line }) => {
    state.markWanted(user.email)
    const entry = state.find(user.email)
    const reading = await read(entry?.creation === undefined ? entry?.id : undefined)
    return { wanted: user, difference: { ...compareUser(user, entry, reading), file, line } }
  })
}
