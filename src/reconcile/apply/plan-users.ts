import { mapInOrder } from '../../bulk/send/map-in-order.ts'
import { ServiceHealth } from '../../bulk/send/service-health.ts'
import type { Throttle } from '../../bulk/send/throttle.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import { compareUser, foundBy, type UserReading } from '../compare-user.ts'
import { readUser } from '../read-user.ts'
import type { Found, StateEntry } from '../state/state-entry.ts'
import type { UsersState } from '../state/users-state.ts'
import type { PlacedUser } from '../user-files.ts'
import type { PlannedUser } from './planned-user.ts'

export interface PlanUsersOptions {
  /** Undefined to compare the files with the state file alone. */
  users: Pick<Users, 'get'> | undefined
  state: Pick<UsersState, 'find' | 'markWanted'>
  throttle: Throttle
  concurrency: number
  /** Which of the known users are read (default: all). */
  isChosen?: (email: string) => boolean
  /** Called with the entry of each user that was read, or is missing, and the drift. */
  onRead?: (entry: StateEntry, found: Found | undefined) => void
}

/**
 * Compares each user of the files with the service and the state file, concurrently, and yields the differences in
 * the order of the files.
 *
 * @throws Failure if all further requests would fail too
 */
export function planUsers(
  files: AsyncIterable<readonly PlacedUser[]>,
  { users, state, throttle, concurrency, isChosen, onRead }: PlanUsersOptions,
): AsyncIterable<PlannedUser> {
  const health = new ServiceHealth()
  const read = async (id: string | undefined): Promise<UserReading> => {
    if (id === undefined || !users) return 'unread'
    try {
      const user = await throttle.through(() => readUser(users, id))
      health.succeeded()
      return { user }
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      if (failure.status === 404) {
        health.succeeded()
        return 'missing'
      }
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
    const isRead = entry?.creation === undefined && (isChosen?.(user.email) ?? true)
    const reading = await read(isRead ? entry?.id : undefined)
    const compared = compareUser(user, entry, reading)
    if (entry && (reading === 'missing' || (typeof reading === 'object' && 'user' in reading)))
      onRead?.(entry, foundBy(compared))
    const difference = { ...compared, file, line }
    return { wanted: user, difference, ...(entry && { hashes: entry.hashes }) }
  })
}
