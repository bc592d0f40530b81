import type { Settings as SettingsClient } from '../../client/settings.ts'
import { Failure } from '../../contract/failure.ts'
import type { Settings } from '../../contract/settings.ts'
import type { Clock } from '../../system/clock.ts'
import { changesOf, type Plan, requestsOf, type SentConfiguration } from '../plan.ts'
import { applyPlan, assertCurrent } from './apply-plan.ts'
import { describeDoubt, describeSideEffect } from './change-failures.ts'
import { readSent } from './sent-configuration.ts'
import { type Locking, withSettingsLock } from './settings-lock.ts'

/** What carrying out a plan needs of its surroundings. */
export interface CarryingOut extends Locking {
  settings: Pick<SettingsClient, 'get' | 'update' | 'setApi'>
  clock: Clock
  /** The command that shows what the settings are, for a hint. */
  check: string
  /** Shows the plan and asks; throws for no. */
  agree(plan: Plan): Promise<void>
  /** Makes a new plan where the old one is out of date; without it that is a failure. */
  renew?(current: Settings, sent: SentConfiguration | undefined): Promise<Plan>
  /** What helps where the plan is out of date and is not made anew. */
  driftHint?: string
  /** Told once something was changed, or may have been. */
  onTaken?(): void | Promise<void>
  /** Under `--dry-run`: does what would send a request, which is then held back. */
  hold?(send: () => Promise<unknown>): Promise<void>
}

/** A service whose settings change as fast as they are read. */
const mostRenewals = 5

/**
 * Has a plan agreed to, reads once more whether it still fits, applies it and verifies that it took.
 * From that reading to the proof no other chatctl of this user changes the settings of the service.
 *
 * @returns the plan that was carried out; where it has no changes, nothing was sent
 * @throws Failure `conflict` where a managed key has changed since the plan was made, or did not take;
 *   `unknown_outcome` where it may still take
 */
export async function carryOut(first: Plan, work: CarryingOut): Promise<Plan> {
  let plan = first
  for (let renewals = 0; changesOf(plan).length > 0; renewals++) {
    await work.agree(plan)
    const mayRenew = renewals < mostRenewals
    const act = () => sendIfCurrent(plan, mayRenew, work)
    // A dry run changes nothing that another process could overwrite.
    const renewed = work.hold ? await act() : await withSettingsLock(plan.service, work, act)
    if (!renewed) break
    plan = renewed
  }
  return plan
}

/** @returns a new plan where the old one is out of date; else undefined, and it was sent */
async function sendIfCurrent(plan: Plan, mayRenew: boolean, work: CarryingOut): Promise<Plan | undefined> {
  const current = (await work.settings.get()).body ?? {}
  const sent = readSent(work.directories, plan.service)
  try {
    assertCurrent(plan, current, sent, work.driftHint)
  } catch (error) {
    if (!(error instanceof Failure) || !work.renew || !mayRenew) throw error
    return work.renew(current, sent)
  }
  await send(plan, current, work)
  return undefined
}

async function send(plan: Plan, current: Settings, work: CarryingOut): Promise<void> {
  const { directories, settings, signal, clock, check, hold, warn, onTaken } = work
  if (hold) {
    const { patch, configuration } = requestsOf(plan)
    if (patch) await hold(() => settings.update(patch))
    if (configuration) await hold(() => settings.setApi(configuration))
    return
  }
  await applyPlan(
    plan,
    {
      directories,
      settings,
      service: plan.service,
      signal,
      clock,
      check,
      onDoubt: (failure) => warn(describeDoubt(failure)),
      onSideEffect: (changes) => warn(describeSideEffect(changes)),
      onWarning: warn,
      ...(onTaken ? { onTaken } : {}),
    },
    current,
  )
}
