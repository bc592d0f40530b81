import { runRows } from '../../bulk/send/run-rows.ts'
import { ServiceHealth } from '../../bulk/send/service-health.ts'
import { type ApplySending, UserApplication } from './apply-user.ts'
import type { PlannedUser } from './planned-user.ts'
import type { UserOutcome } from './user-outcome.ts'

export interface ApplyUsersOptions extends Omit<ApplySending, 'health' | 'missing'> {
  concurrency: number
  /** Ends the run. Requests in progress may finish: see `GracefulAbort`. */
  signal: AbortSignal
  /** Called once for each user that was begun. */
  onOutcome(planned: PlannedUser, outcome: UserOutcome): void
}

/**
 * Applies the differences of many users concurrently. A user that fails does not end the run.
 *
 * @returns the error or abort reason that ended the run early
 */
export async function applyUsers(
  planned: readonly PlannedUser[],
  { concurrency, onOutcome, ...sending }: ApplyUsersOptions,
): Promise<unknown> {
  const { signal } = sending
  const health = new ServiceHealth()
  const isMissing = ({ difference }: PlannedUser) => difference.action === 'missing'
  const missing = new Set(planned.filter(isMissing).map(({ difference }) => difference.id))
  async function* batches() {
    yield planned
  }
  const work = async (user: PlannedUser) => {
    const application = new UserApplication(user, { ...sending, health, missing })
    try {
      await application.run()
    } finally {
      onOutcome(user, application.outcome)
    }
  }
  try {
    await runRows(batches(), concurrency, work, () => signal.aborted)
    return signal.aborted ? signal.reason : undefined
  } catch (error) {
    return signal.aborted ? signal.reason : error
  }
}
