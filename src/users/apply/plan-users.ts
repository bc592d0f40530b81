import type { FileOptions } from '../../bulk/file-run.ts'
import { BulkRun } from '../../bulk/send/bulk-run.ts'
import { mapInOrder } from '../../bulk/send/concurrency.ts'
import { ServiceHealth } from '../../bulk/send/send-change.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import type { Run } from '../../run/run.ts'
import { isoNow } from '../../system/clock.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import { compareUser, foundBy, readUser, type UserReading } from '../compare-user.ts'
import type { KnownUsers } from '../known-users.ts'
import { keyOf, type StateEntry } from '../state/state-entry.ts'
import type { UsersState } from '../state/users-state.ts'
import type { PlacedUser, UserFiles } from '../user-files.ts'
import type { UsersPlanFile } from '../users-plan-file.ts'
import { type PlanChoices, type PlannedUser, type UsersPlan, UsersPlanBuilder } from './users-plan.ts'

/** How users are compared. */
export interface Comparing extends Partial<PlanChoices>, Pick<FileOptions, 'concurrency' | 'quota'> {
  /** The users of checked files, or a saved plan. Files can be read again. */
  source: Pick<UserFiles, 'users'> | { plan: UsersPlanFile }
  /** Number of users in the files. */
  total: number
  /** Open for writing if `limitReads` is given, because the times of the reads are recorded. */
  state: UsersState
  known: Pick<KnownUsers, 'find'>
  /** Whether known users are read. Otherwise, the files are compared with the state file alone. */
  refresh: boolean
  /** Maximum number of users to read: the least recently read (default: all). */
  limitReads?: number
}

export interface PlanUsersOptions extends Comparing {
  users: Pick<Users, 'get'> | undefined
}

/** @throws Failure if all further requests would fail too */
export async function diffUsers(run: Run, options: Comparing): Promise<UsersPlan> {
  const bulk = new BulkRun(run, { noun: 'user', quota: options.quota })
  const users = options.refresh ? (await bulk.connect()).users : undefined
  return planUsers(run, { ...options, users }, bulk)
}

/**
 * Compares each user of the files with the service and the state file, concurrently. A user without an entry in the
 * state file may be in the ledger.
 * @throws Failure if all further requests would fail too
 */
export async function planUsers(
  { clock, signal, say }: Run,
  options: PlanUsersOptions,
  bulk: BulkRun,
): Promise<UsersPlan> {
  const { source, state, known, concurrency, total } = options
  const building = new UsersPlanBuilder(options)
  if ('plan' in source) {
    const { users, unmanaged, counts } = source.plan
    for (const user of users) building.add(user)
    return { ...building.finish(unmanaged), counts }
  }
  const files = source.users
  const isChosen = chooseUsers(files, options)
  const read = readerOf(options, bulk)
  const compared = mapInOrder(files, concurrency, async ({ user, id, file, line }): Promise<PlannedUser> => {
    const entry = state.find(user.email)
    const found = known.find(user.email, id)
    const isChosenUser = found?.isUnchecked || (isChosen?.(user.email) ?? true)
    const isRead = found?.creation === undefined && isChosenUser
    const reading = await read(isRead ? found?.id : undefined)
    const difference = compareUser(user, found, reading)
    const isSeen = reading === 'missing' || (typeof reading === 'object' && 'user' in reading)
    if (isSeen && entry && (isChosen || (entry.found && state.isWritable))) {
      state.note({ ...entry, checkedAt: isoNow(clock), found: foundBy(difference) })
    }
    return { wanted: user, difference: { ...difference, file, line }, hashes: found?.hashes }
  })
  const counts = { done: 0, failed: 0, unknown: 0 }
  const progress = bulk.begin({ rows: total })
  try {
    for await (const user of compared) {
      building.add(user)
      counts[user.difference.action === 'failed' ? 'failed' : 'done']++
      progress.update({ ...counts })
    }
  } catch (error) {
    bulk.end()
    if (error === signal.reason) {
      const compared = `${groupDigits(counts.done + counts.failed)} of ${countOf(total, 'user')}`
      say(`Interrupted: ${compared} were compared. Nothing was changed.`)
    }
    throw error
  } finally {
    bulk.end()
  }
  const wanted = new Set(files.map(({ user }) => keyOf(user.email)))
  return building.finish(state.entries((key) => !wanted.has(key)))
}

/**
 * Chooses the known users that were never checked, then the least recently checked.
 * @returns which of the users are read; undefined for all
 */
function chooseUsers(
  files: readonly PlacedUser[],
  { state, limitReads }: PlanUsersOptions,
): ((email: string) => boolean) | undefined {
  if (limitReads === undefined) return undefined
  const rankOf = ({ checkedAt = '', email }: StateEntry) => `${checkedAt} ${keyOf(email)}`
  const ranked = files
    .flatMap(({ user }) => state.find(user.email) ?? [])
    .filter(({ id }) => id !== undefined)
    .sort((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1))
  const chosen = new Set(ranked.slice(0, limitReads).map(({ email }) => keyOf(email)))
  return (email) => chosen.has(keyOf(email))
}

/** @returns reads a user, if its id is known */
function readerOf(
  { users }: PlanUsersOptions,
  { throttle }: BulkRun,
): (id: string | undefined) => Promise<UserReading> {
  const health = new ServiceHealth()
  return async (id) => {
    if (id === undefined || !users) return 'unread'
    try {
      const user = await throttle.through(() => readUser(users, id))
      health.succeeded()
      return { user }
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      if (failure.status !== 404) health.failed(failure)
      else health.succeeded()
      return failure.status === 404 ? 'missing' : { failure }
    }
  }
}
