import type { Client } from '../../client/client.ts'
import type { ClientOptions } from '../../client/client-options.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import { isoNow } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import type { UserCounts } from '../../view/user-differences.ts'
import {
  type ComparedEntry,
  compareUser,
  foundBy,
  readUser,
  recordedUsers,
  type UserReading,
} from '../compare-user.ts'
import { countAcrossRuns } from '../journal/spent-quota.ts'
import type { KnownQuota } from '../send/known-quota.ts'
import { mapInOrder } from '../send/map-in-order.ts'
import { ServiceHealth } from '../send/service-health.ts'
import { Throttle, type ThrottleOptions } from '../send/throttle.ts'
import { keyOf, type StateEntry } from '../state/state-entry.ts'
import type { UsersState } from '../state/users-state.ts'
import type { UserFiles } from '../user-files.ts'
import type { UsersPlanFile } from '../users-plan-file.ts'
import type { PlannedUser } from './planned-user.ts'
import { type PlanChoices, type UsersPlan, UsersPlanBuilder } from './users-plan.ts'

/** How users are compared. */
export interface Comparing extends Partial<PlanChoices>, ThrottleOptions {
  /** The users of checked files, or a saved plan. Files can be read again. */
  source: Pick<UserFiles, 'users'> | { plan: UsersPlanFile }
  /** Open for writing if `limitReads` is given, because the times of the reads are recorded. */
  state: UsersState
  /** Of the record of changes. */
  directories: Directories
  service: string
  /** Whether known users are read. Otherwise, the files are compared with the state file alone. */
  refresh: boolean
  /** Maximum number of users to read: the least recently read (default: all). */
  limitReads?: number | undefined
  concurrency: number
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
  onCompared(counts: UserCounts, quota: KnownQuota | undefined): void
}

interface PlanUsersOptions extends Comparing {
  users: Pick<Users, 'get'> | undefined
  /** Finds a user without an entry in the state in the record of changes. */
  recorded: (email: string) => ComparedEntry | undefined
  throttle: Throttle
}

/** @throws Failure if all further requests would fail too */
export async function diffUsers(options: Comparing): Promise<UsersPlan> {
  const { refresh, connect, directories, service } = options
  const throttle = await openThrottle(options)
  const client = refresh
    ? await connect({ maxWait: 0, observe: (event) => throttle.observe(event) })
    : undefined
  const recorded = recordedUsers(directories, service)
  return planUsers({ ...options, users: client?.users, recorded, throttle })
}

/** Its quota includes the requests of earlier runs. */
export async function openThrottle(options: Comparing): Promise<Throttle> {
  return new Throttle({ ...options, ...(await countAcrossRuns(options)) })
}

/**
 * Compares each user of the files with the service and the state file, concurrently. A user without an entry in the
 * state file may be in the record of changes.
 *
 * @throws Failure if all further requests would fail too
 */
export async function planUsers(options: PlanUsersOptions): Promise<UsersPlan> {
  const { source, state, recorded, throttle, concurrency, clock, onCompared } = options
  const building = new UsersPlanBuilder(options)
  if ('plan' in source) {
    const { users, unmanaged, counts } = source.plan
    for (const user of users) building.add(user, state.find(user.wanted.email))
    return { ...building.finish(unmanaged), counts }
  }
  const wanted = new Set<string>()
  const isChosen = await chooseUsers(source, options)
  const read = readerOf(options)
  async function* placed(files: Pick<UserFiles, 'users'>) {
    for await (const batch of files.users()) yield* batch
  }
  const compared = mapInOrder(
    placed(source),
    concurrency,
    async ({ user, file, line }): Promise<PlannedUser> => {
      wanted.add(keyOf(user.email))
      const entry = state.find(user.email)
      const known = entry ?? recorded(user.email)
      const isRead = known?.creation === undefined && (isChosen?.(user.email) ?? true)
      const reading = await read(isRead ? known?.id : undefined)
      const difference = compareUser(user, known, reading)
      const isSeen = reading === 'missing' || (typeof reading === 'object' && 'user' in reading)
      if (isSeen && entry && (isChosen || (entry.found && state.isWritable))) {
        const { found: _, ...before } = entry
        const found = foundBy(difference)
        state.note({ ...before, checkedAt: isoNow(clock), ...(found && { found }) })
      }
      return {
        wanted: user,
        difference: { ...difference, file, line },
        ...(entry && { hashes: entry.hashes }),
      }
    },
  )
  for await (const user of compared) {
    building.add(user, state.find(user.wanted.email))
    onCompared(building.counts, throttle.known)
  }
  return building.finish(state.entries().filter(({ email }) => !wanted.has(keyOf(email))))
}

/**
 * Chooses the known users that were never checked, then the least recently checked.
 *
 * @returns which of the users are read; undefined for all
 */
async function chooseUsers(
  files: Pick<UserFiles, 'users'>,
  { state, limitReads }: PlanUsersOptions,
): Promise<((email: string) => boolean) | undefined> {
  if (limitReads === undefined) return undefined
  const known: StateEntry[] = []
  for await (const batch of files.users()) {
    for (const { user } of batch) {
      const entry = state.find(user.email)
      if (entry?.id !== undefined) known.push(entry)
    }
  }
  const rankOf = ({ checkedAt = '', email }: StateEntry) => `${checkedAt} ${keyOf(email)}`
  const ranked = known.sort((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1))
  const chosen = new Set(ranked.slice(0, limitReads).map(({ email }) => keyOf(email)))
  return (email) => chosen.has(keyOf(email))
}

/** @returns reads a user, if its id is known */
function readerOf({ users, throttle }: PlanUsersOptions): (id: string | undefined) => Promise<UserReading> {
  const health = new ServiceHealth()
  return async (id) => {
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
}
