import type { KnownQuota } from '../../bulk/send/known-quota.ts'
import { mapInOrder } from '../../bulk/send/map-in-order.ts'
import { ServiceHealth } from '../../bulk/send/service-health.ts'
import type { Throttle } from '../../bulk/send/throttle.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/directories.ts'
import type { UserCounts } from '../../view/user-differences.ts'
import { type ComparedEntry, compareUser, foundBy, type UserReading } from '../compare-user.ts'
import { readUser } from '../read-user.ts'
import type { Found, StateEntry } from '../state/state-entry.ts'
import type { UsersState } from '../state/users-state.ts'
import type { PlacedUser } from '../user-files.ts'
import type { PlannedUser } from './planned-user.ts'
import type { UsersPlan, UsersPlanBuilder } from './users-plan.ts'

/** What a comparison needs, beside the files and the client. */
export interface Comparing {
  state: UsersState
  /** Of the record of changes. */
  directories: Directories
  service: string
  concurrency: number
  onCompared(counts: UserCounts, quota: KnownQuota | undefined): void
}

interface PlanUsersOptions extends Pick<Comparing, 'state' | 'concurrency' | 'onCompared'> {
  files: AsyncIterable<readonly PlacedUser[]>
  /** Undefined to compare the files with the state file alone. */
  users: Pick<Users, 'get'> | undefined
  /** Finds a user without an entry in the state in the record of changes. */
  recorded: (email: string) => ComparedEntry | undefined
  throttle: Throttle
  /** Which of the known users are read (default: all). */
  isChosen?: (email: string) => boolean
  /** Called with the entry of each user that was read, or is missing, and the drift. */
  onRead?: (entry: StateEntry, found: Found | undefined) => void
}

/**
 * Compares each user of the files with the service and the state file, concurrently. A user without an entry in the
 * state file may be in the record of changes.
 *
 * @throws Failure if all further requests would fail too
 */
export async function planUsers(building: UsersPlanBuilder, options: PlanUsersOptions): Promise<UsersPlan> {
  const { files, users, state, recorded, throttle, concurrency, isChosen, onRead, onCompared } = options
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
  const compared = mapInOrder(placed(), concurrency, async ({ user, file, line }): Promise<PlannedUser> => {
    state.markWanted(user.email)
    const entry = state.find(user.email)
    const known = entry ?? recorded(user.email)
    const isRead = known?.creation === undefined && (isChosen?.(user.email) ?? true)
    const reading = await read(isRead ? known?.id : undefined)
    const difference = compareUser(user, known, reading)
    if (entry && (reading === 'missing' || (typeof reading === 'object' && 'user' in reading)))
      onRead?.(entry, foundBy(difference))
    return { wanted: user, difference: { ...difference, file, line }, ...(entry && { hashes: entry.hashes }) }
  })
  for await (const user of compared) {
    building.add(user, state.find(user.wanted.email))
    onCompared(building.counts, throttle.known)
  }
  return building.finish(state.unmanaged())
}
