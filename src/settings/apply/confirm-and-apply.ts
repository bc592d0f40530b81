import type { Settings } from '../../client/settings.ts'
import { Failure } from '../../contract/failure.ts'
import type { ApplicationSettings } from '../../contract/resources/settings.ts'
import type { Clock } from '../../system/clock.ts'
import { changesOf, type Plan, requestsOf, type SentConfiguration } from '../plan.ts'
import { applyPlan, assertCurrent } from './apply-plan.ts'
import { describeFailedRequest, describeSideEffect } from './change-failures.ts'
import { readSent } from './sent-configuration.ts'
import { type LockOptions, withSettingsLock } from './settings-lock.ts'

/** What confirming and applying a plan needs. */
export interface ConfirmAndApplyOptions extends LockOptions {
  settings: Pick<Settings, 'get' | 'update' | 'setApi'>
  clock: Clock
  /** The command that shows the settings, for a hint. */
  check: string
  /** Shows the plan and asks for confirmation. Throws if the user declines. */
  confirm(plan: Plan): Promise<void>
  /** Makes a new plan if the old one is out of date (default: that is a failure). */
  replan?(current: ApplicationSettings, sent: SentConfiguration | undefined): Promise<Plan>
  /** The next step if the plan is out of date and there is no `replan`. */
  driftHint?: string
  /** Called once after something was changed, or may have been. */
  onChanged?(): void | Promise<void>
  /** In a dry run: calls the function that sends a request, and prevents the request. */
  hold?(send: () => Promise<unknown>): Promise<void>
}

/** Maximum number of new plans, for a service whose settings change continuously. */
const maxReplans = 5

/**
 * Asks for confirmation of a plan, checks that it is still current, applies it, and verifies that it took
 * effect. From the check on, a lock keeps other chatctl processes of this user from changing the settings of the
 * service.
 *
 * @returns the applied plan; if it has no changes, nothing was sent
 * @throws Failure `conflict` if a managed key has changed since the plan was made, or did not take effect;
 *   `unknown_outcome` if it may still take effect
 */
export async function confirmAndApply(first: Plan, options: ConfirmAndApplyOptions): Promise<Plan> {
  let plan = first
  for (let replans = 0; changesOf(plan).length > 0; replans++) {
    await options.confirm(plan)
    const mayReplan = replans < maxReplans
    const act = () => sendIfCurrent(plan, mayReplan, options)
    // A dry run needs no lock.
    const newPlan = options.hold ? await act() : await withSettingsLock(plan.service, options, act)
    if (!newPlan) break
    plan = newPlan
  }
  return plan
}

/** @returns a new plan if the old one is out of date, and nothing was sent; undefined after sending */
async function sendIfCurrent(
  plan: Plan,
  mayReplan: boolean,
  options: ConfirmAndApplyOptions,
): Promise<Plan | undefined> {
  const current = (await options.settings.get()).body ?? {}
  const sent = readSent(options.directories, plan.service)
  try {
    assertCurrent(plan, current, sent, options.driftHint)
  } catch (error) {
    if (!(error instanceof Failure) || !options.replan || !mayReplan) throw error
    return options.replan(current, sent)
  }
  await send(plan, current, options)
  return undefined
}

async function send(
  plan: Plan,
  current: ApplicationSettings,
  options: ConfirmAndApplyOptions,
): Promise<void> {
  const { directories, settings, signal, clock, check, hold, warn, onChanged } = options
  if (hold) {
    const { patch, configuration } = requestsOf(plan)
    if (patch) await hold(() => settings.update(patch, { allowsUnknownFields: true }))
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
      onFailedRequest: (failure) => warn(describeFailedRequest(failure)),
      onSideEffect: (changes) => warn(describeSideEffect(changes)),
      onWarning: warn,
      ...(onChanged ? { onChanged } : {}),
    },
    current,
  )
}
