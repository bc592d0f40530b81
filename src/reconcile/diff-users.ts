import { countAcrossRuns } from '../bulk/journal/spent-quota.ts'
import { Throttle, type ThrottleOptions } from '../bulk/send/throttle.ts'
import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import { isoNow } from '../system/clock.ts'
import { type Comparing, planUsers } from './apply/plan-users.ts'
import { type UsersPlan, UsersPlanBuilder } from './apply/users-plan.ts'
import { recordedUsers } from './recorded-users.ts'
import type { UsersState } from './state/users-state.ts'
import type { UserFiles } from './user-files.ts'

export interface DiffUsersOptions extends Comparing, ThrottleOptions {
  files: UserFiles
  /** Open for writing if `limitReads` is given, because the times of the reads are recorded. */
  state: UsersState
  /** Whether known users are read. Otherwise, the files are compared with the state file alone. */
  refresh: boolean
  /** Maximum number of users to read: the least recently read (default: all). */
  limitReads: number | undefined
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait'>): Promise<Client>
}

export interface ComparedUsers {
  plan: UsersPlan
  /** The number of users whose email in the files has another case than in the state file. */
  respelled: number
}

/**
 * Compares the users of checked files with the service and the state file.
 *
 * @throws Failure if all further requests would fail too
 */
export async function diffUsers(options: DiffUsersOptions): Promise<ComparedUsers> {
  const { files, state, refresh, limitReads, clock } = options
  const throttle = new Throttle({ ...options, ...(await countAcrossRuns(options)) })
  let isChosen: ((email: string) => boolean) | undefined
  if (limitReads !== undefined) {
    for await (const batch of files.users()) for (const { user } of batch) state.markWanted(user.email)
    isChosen = state.leastRecentlyChecked(limitReads)
  }
  const client = refresh
    ? await options.connect({ maxWait: 0, observe: (event) => throttle.observe(event) })
    : undefined
  const building = new UsersPlanBuilder({ recreateMissing: false, retryUnknown: false })
  const plan = await planUsers(building, {
    ...options,
    files: files.users(),
    users: client?.users,
    recorded: recordedUsers(options.directories, options.service),
    throttle,
    ...(isChosen && {
      isChosen,
      onRead: ({ found: _, ...entry }, found) =>
        state.note({ ...entry, checkedAt: isoNow(clock), ...(found && { found }) }),
    }),
  })
  return { plan, respelled: building.respelled }
}
