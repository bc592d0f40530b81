import { nameOfService } from '../../contract/base-url.ts'
import { afterColon, Failure, reasonOf, unknownOutcome } from '../../contract/failure.ts'
import { quoteForeign } from '../../contract/notation/text.ts'
import type { ApplicationSettings } from '../../contract/resources/settings.ts'
import type { SettingsFile } from '../../contract/resources/settings-file.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import type { Run } from '../../run/run.ts'
import { contradictionOf, shownValue } from '../../view/failure-details.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type Comparison, differenceView } from '../../view/settings.ts'
import { compareSettings, readCurrentSettings } from '../compare-settings.ts'
import {
  type Change,
  changesOf,
  coverageOf,
  foundAt,
  isSameValue,
  makePlan,
  type Part,
  type Plan,
  requestsOf,
  resultOf,
  type SentConfiguration,
  settingsFileOf,
  valuesOf,
} from '../plan.ts'
import { readSent } from '../settings-history.ts'
import { changeAndVerify, verifySettings } from './change-settings.ts'
import { withSettingsLock } from './settings-lock.ts'

/** How a plan is applied. */
export interface ApplyOptions {
  /** Whether to skip the confirmation prompt. */
  yes: boolean
  /** The next step if the plan is out of date. */
  hint: string
  /** If the settings have changed since the comparison, they are compared with it again (default: that is a failure). */
  refresh?: SettingsFile | undefined
  /** The ID of a saved plan, and its part that is applied (default: the whole plan). */
  saved?: { id: string; only: Part | undefined } | undefined
  /** What is shown beside the differences. */
  about?: Pick<Comparison, 'isSaved' | 'files' | 'ignored'>
}

/** Maximum number of new plans, for a service whose settings change continuously. */
const maxReplans = 5

/**
 * Compares a settings file with the service, or checks that a saved plan is still current, and applies the
 * differences.
 * @throws as `confirmAndApply`
 */
export async function applySettings(
  run: Run,
  source: { file: SettingsFile } | { plan: Plan },
  options: ApplyOptions,
): Promise<Plan> {
  if ('file' in source) return confirmAndApply(run, (await compareSettings(run, source.file)).plan, options)
  const { response, settings, serial } = await readCurrentSettings(run)
  await run.warnOfResponse(response)
  assertCurrent(source.plan, settings, readSent(run).api, options.hint, serial)
  return confirmAndApply(run, source.plan, options)
}

/**
 * Asks for confirmation of a plan, checks that it is still current, applies it, and verifies that it took effect.
 * From the check on, a lock keeps other chatctl processes of this user from changing the settings of the service.
 * @returns the applied plan; if it has no changes, or in a dry run, nothing was sent
 * @throws Failure `conflict` if a managed key has changed since the plan was made, or did not take effect;
 *   `unknown_outcome` if it may still take effect
 */
export async function confirmAndApply(
  run: Run,
  plan: Plan,
  options: ApplyOptions,
  replans = maxReplans,
): Promise<Plan> {
  if (run.dryRun || changesOf(plan).length === 0) return plan
  const { yes, about, hint, refresh, saved } = options
  const { changes } = resultOf(plan)
  await run.showAside(differenceView({ ...coverageOf(plan), ...about }), { changes }, !yes)
  if (!yes) await run.confirm(`Apply ${countOf(changes.length, 'change')} to ${nameOfService(run.service)}?`)
  const newPlan = await withSettingsLock(run, async () => {
    const { settings, serial } = await readCurrentSettings(run)
    const sent = readSent(run)
    try {
      assertCurrent(plan, settings, sent.api, hint, serial)
    } catch (error) {
      if (!refresh || replans === 0) throw error
      return makePlan(run.service, refresh, settings, sent, run.clock)
    }
    try {
      await applyPlan(run, plan, settings)
    } finally {
      if (saved && run.hasSentChange) await run.note({ plan: saved.id, part: saved.only })
    }
    return undefined
  })
  if (!newPlan) return plan
  run.say('The settings have changed. These are the new differences.')
  return confirmAndApply(run, newPlan, options, replans - 1)
}

/**
 * @param settings as they were read just now
 * @param sent the API configuration that was last sent from this machine. Matters only if it was sent after the
 *   plan was made, because another machine may have sent a later one.
 * @param hint the next step
 * @param serial of the settings, if the service has one
 * @throws Failure `conflict` with each managed key that has changed since the plan was made
 */
export function assertCurrent(
  plan: Plan,
  settings: ApplicationSettings,
  sent: SentConfiguration | undefined,
  hint?: string,
  serial?: string,
): void {
  const isSentSince = plan.api && sent && sent.sentAt >= plan.api.comparedAt
  const changed = [
    ...changedSince(plan.settings, settings, ''),
    ...(isSentSince ? changedSince(plan.api?.managed ?? [], sent.configuration, 'api.') : []),
  ]
  if (changed.length === 0) {
    if (plan.serial === undefined || plan.serial === serial) return
    const serials = `(serial ${plan.serial}, now ${quoteForeign(serial ?? 'none')})`
    throw new Failure('conflict', `The settings have changed since the plan was saved ${serials}`, { hint })
  }
  const words = changed.map(
    ({ path, was, is }) => `${path} was ${shownValue(path, was)} and is now ${shownValue(path, is)}`,
  )
  const since = isSentSince ? ` (the API configuration was sent from this machine at ${sent.sentAt})` : ''
  const what = 'The settings have changed since the differences were shown, or the plan was saved'
  throw new Failure('conflict', `${what}: ${words.join('; ')}${since}`, { details: { keys: changed }, hint })
}

function changedSince(managed: readonly Change[], current: object, prefix: string) {
  return managed.flatMap(({ path, from }) => {
    const is = foundAt(current, path)
    if (isSameValue(path, is, from)) return []
    return [{ path: `${prefix}${path}`, was: hideSecrets(from, path), is: hideSecrets(is, path) }]
  })
}

/**
 * Sends the differences, settings before the API configuration, and reads the settings back after each. The API
 * configuration cannot be read back, so its response decides.
 * @param before the settings as they were read just now
 * @throws Failure as `changeAndVerify`; that of the API configuration
 */
export async function applyPlan(run: Run, plan: Plan, before: ApplicationSettings): Promise<void> {
  const { patch, configuration } = requestsOf(plan)
  const managed = valuesOf(settingsFileOf(plan).settings)
  const verified = patch ? await changeAndVerify(run, patch, { managed, before }) : { read: before }
  if (!configuration) return
  const { settings } = await run.connect()
  const response = await settings.setApi(configuration).catch((error) => {
    throw error instanceof Failure ? configurationFailure(error, patch !== undefined) : error
  })
  const failure = contradictionOf({ api: configuration }, { ...response, body: { api: response.body } })
  if (failure) throw configurationFailure(failure, patch !== undefined)
  if (response.warning !== undefined) await run.warn(response.warning)
  if (managed.size === 0) return
  await verifySettings(run, { ...verified, managed, before: verified.read }, { method: 'POST', response })
}

/** The failure for the API configuration, which cannot be read back. */
function configurationFailure(failure: Failure, afterSettings: boolean): Failure {
  const hint = 'The API configuration cannot be read back. Run the same command again to send it once more.'
  const judged = failure.isOutcomeUnknown ? unknownOutcome(failure, hint) : failure
  if (!afterSettings) return judged
  return judged.reworded(
    failure.isOutcomeUnknown
      ? `The settings were changed and verified; the outcome of setting the API configuration is unknown: ${reasonOf(failure)}`
      : `The settings were changed and verified; setting the API configuration failed: ${afterColon(failure.message)}`,
  )
}
