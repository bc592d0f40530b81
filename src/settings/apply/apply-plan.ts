import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Settings } from '../../client/settings.ts'
import { afterColon, Failure, reasonOf, unknownOutcome } from '../../contract/failure.ts'
import { settingsSerialHeader } from '../../contract/headers.ts'
import { quoteForeign } from '../../contract/notation/text.ts'
import type { ApiConfiguration, ApplicationSettings } from '../../contract/resources/settings.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { waitForProcessLock } from '../../system/files/process-lock.ts'
import { contradictionOf, shownValue } from '../../view/failure-details.ts'
import {
  changesOf,
  foundAt,
  isSameValue,
  type ManagedKey,
  type Plan,
  requestsOf,
  type SentConfiguration,
  settingsFileOf,
  valuesOf,
} from '../plan.ts'
import { readSent } from '../settings-history.ts'
import { type ChangeOptions, changeAndVerify, verifySettings } from './change-settings.ts'

/** What the lock of a service's settings needs. */
export interface LockOptions {
  directories: Directories
  signal: AbortSignal
  /** Called if another process holds the lock. */
  onWait(): void
  warn(words: string): void | Promise<void>
}

/** What applying a plan needs. */
export interface ApplyOptions extends ChangeOptions {
  settings: Pick<Settings, 'get' | 'update' | 'setApi'>
}

/** What confirming and applying a plan needs. */
export interface ConfirmAndApplyOptions extends ApplyOptions, LockOptions {
  /** Shows the plan and asks for confirmation. Throws if the user declines. */
  confirm(plan: Plan): Promise<void>
  /** Makes a new plan if the old one is out of date (default: that is a failure). */
  replan?(current: ApplicationSettings, sent: SentConfiguration | undefined): Promise<Plan>
  /** The next step if the plan is out of date and there is no `replan`. */
  driftHint?: string
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
  const { settings, hold } = options
  const { body: current = {}, headers } = await settings.get()
  const sent = readSent(options.directories, plan.service)
  try {
    assertCurrent(plan, current, sent, options.driftHint, headers[settingsSerialHeader])
  } catch (error) {
    if (!(error instanceof Failure) || !options.replan || !mayReplan) throw error
    return options.replan(current, sent)
  }
  if (!hold) {
    await applyPlan(plan, options, current)
    return undefined
  }
  const { patch, configuration } = requestsOf(plan)
  if (patch) await hold(() => settings.update(patch, { allowsUnknownFields: true }))
  if (configuration) await hold(() => settings.setApi(configuration))
  return undefined
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
  const drift = [
    ...driftOf(plan.settings, settings, ''),
    ...(isSentSince ? driftOf(plan.api?.managed ?? [], sent.configuration, 'api.') : []),
  ]
  if (drift.length === 0) {
    if (plan.serial === undefined || plan.serial === serial) return
    const serials = `(serial ${plan.serial}, now ${quoteForeign(serial ?? 'none')})`
    throw new Failure('conflict', `The settings have changed since the plan was saved ${serials}`, { hint })
  }
  const words = drift.map(
    ({ path, was, is }) => `${path} was ${shownValue(path, was)} and is now ${shownValue(path, is)}`,
  )
  const since = isSentSince ? ` (the API configuration was sent from this machine at ${sent.sentAt})` : ''
  const what = 'The settings have changed since the differences were shown, or the plan was saved'
  throw new Failure('conflict', `${what}: ${words.join('; ')}${since}`, { details: { keys: drift }, hint })
}

function driftOf(managed: readonly ManagedKey[], current: object, prefix: string) {
  return managed.flatMap(({ path, from }) => {
    const is = foundAt(current, path)
    if (isSameValue(path, is, from)) return []
    return [{ path: `${prefix}${path}`, was: hideSecrets(from, path), is: hideSecrets(is, path) }]
  })
}

/**
 * Sends the differences, settings before the API configuration, and reads the settings back after each. The API
 * configuration cannot be read back, so its response decides.
 *
 * @param before the settings as they were read just now
 * @throws Failure as `changeAndVerify`; that of the API configuration
 */
export async function applyPlan(
  plan: Plan,
  options: ApplyOptions,
  before: ApplicationSettings,
): Promise<void> {
  const { patch, configuration } = requestsOf(plan)
  const managed = valuesOf(settingsFileOf(plan).settings)
  const { read } = patch ? await changeAndVerify(patch, options, { managed, before }) : { read: before }
  if (!configuration) return
  const response = await applyConfiguration(configuration, options).catch((error) => {
    throw error instanceof Failure ? configurationFailure(error, patch !== undefined) : error
  })
  if (managed.size > 0) await verifySettings({ managed, before: read }, { method: 'POST', response }, options)
}

async function applyConfiguration(
  configuration: ApiConfiguration,
  { settings, signal, onChanged, warn }: ApplyOptions,
): Promise<ApiResponse<unknown>> {
  let response: ApiResponse<unknown>
  try {
    response = await settings.setApi(configuration)
  } catch (error) {
    if (error instanceof Failure ? error.isOutcomeUnknown : signal.aborted) await onChanged?.()
    throw error
  }
  await onChanged?.()
  const failure = contradictionOf({ api: configuration }, { ...response, body: { api: response.body } })
  if (failure) throw failure
  if (response.warning !== undefined) await warn(response.warning)
  return response
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

/** Maximum wait in ms: a PATCH may take its whole timeout, and then the settings are read back. */
const maxWait = 120_000

/**
 * Runs work under a lock on a service's settings, so that no concurrent chatctl process of this user overwrites a
 * change that it has not seen.
 *
 * @param service as `Plan.service`
 * @throws Failure `conflict` if another process holds the lock for too long; else the error of the work
 */
export async function withSettingsLock<T>(
  service: string,
  { directories, signal, onWait, warn }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const name = createHash('sha256').update(`settings ${service}`).digest('hex').slice(0, 32)
  let release: (() => void) | undefined
  try {
    const path = join(directories.locks, `${name}.lock`)
    release = await waitForProcessLock(path, { signal, maxWait, onWait })
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const why = cause instanceof Failure ? cause.message : describeSystemError(cause)
    await warn(
      `Cannot lock the settings, so another chatctl process on this machine may change them at the same time: ${why}`,
    )
    // A read-only home directory must not prevent the change.
    return work()
  }
  if (!release) {
    const words = 'Another chatctl process has been changing the settings of this service for two minutes'
    const hint = 'Nothing was sent. Run the command again when the other process has ended.'
    throw new Failure('conflict', words, { hint })
  }
  try {
    return await work()
  } finally {
    release()
  }
}
