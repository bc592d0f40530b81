import type { Settings as SettingsClient } from '../../client/settings.ts'
import type { Settings } from '../../contract/settings.ts'
import { Failure } from '../../failure.ts'
import { changesOf, type Plan, requestsOf } from '../plan.ts'
import { applyPlan, assertCurrent } from './apply-plan.ts'
import { describeDoubt, describeSideEffect } from './describe-outcome.ts'
import { readSent, type SentConfiguration } from './sent-configuration.ts'

/** What carrying out a plan needs of its surroundings. */
export interface CarryingOut {
  settings: Pick<SettingsClient, 'get' | 'update' | 'setApi'>
  signal: AbortSignal
  /** The command that shows what the settings are, for a hint. */
  check: string
  /** Shows the plan and asks; throws for no. */
  agree(plan: Plan): Promise<void>
  /** Makes a new plan where the old one is out of date; without it that is a failure. */
  renew?(current: Settings, sent: SentConfiguration | undefined): Promise<Plan>
  /** What helps where the plan is out of date and is not made anew. */
  driftHint?: string
  warn(words: string): Promise<void>
  /** Told once something was changed, or may have been. */
  onTaken?(): void | Promise<void>
  /** Under `--dry-run`: does what would send a request, which is then held back. */
  hold?(send: () => Promise<unknown>): Promise<void>
}

/** A service whose settings change as fast as they are read. */
const mostRenewals = 5

/**
 * Has a plan agreed to, reads once more whether it still fits, applies it and verifies that it took.
 *
 * @returns the plan that was carried out; where it has no changes, nothing was sent
 * @throws Failure `conflict` where a managed key has changed since the plan was made, or did not take;
 *   `unknown_outcome` where it may still take
 */
export async function carryOut(first: Plan, work: CarryingOut): Promise<Plan> {
  let plan = first
  for (let renewals = 0; changesOf(plan).length > 0; renewals++) {
    await work.agree(plan)
    const current = (await work.settings.get()).body ?? {}
    const sent = readSent(plan.service)
    try {
      assertCurrent(plan, current, sent, work.driftHint)
    } catch (error) {
      if (!(error instanceof Failure) || !work.renew || renewals >= mostRenewals) throw error
      plan = await work.renew(current, sent)
      continue
    }
    await send(plan, current, work)
    break
  }
  return plan
}

async function send(plan: Plan, current: Settings, work: CarryingOut): Promise<void> {
  const { settings, signal, check, hold, warn, onTaken } = work
  if (hold) {
    const { patch, configuration } = requestsOf(plan)
    if (patch) await hold(() => settings.update(patch))
    if (configuration) await hold(() => settings.setApi(configuration))
    return
  }
  await applyPlan(
    plan,
    {
      settings,
      service: plan.service,
      signal,
      check,
      onDoubt: (failure) => warn(describeDoubt(failure)),
      onSideEffect: (changes) => warn(describeSideEffect(changes)),
      onWarning: warn,
      ...(onTaken ? { onTaken } : {}),
    },
    current,
  )
}
