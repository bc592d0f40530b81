import type { ApiResponse } from '../../client/response/response.ts'
import type { Settings } from '../../client/settings.ts'
import { Failure } from '../../contract/failure.ts'
import type { ApiConfiguration, ApplicationSettings } from '../../contract/resources/settings.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import type { Directories } from '../../system/files/directories.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf, shownValue } from '../../view/mismatches.ts'
import { leavesOf } from '../leaves.ts'
import {
  foundAt,
  isSameValue,
  type ManagedKey,
  type Plan,
  requestsOf,
  type SentConfiguration,
  settingsFileOf,
} from '../plan.ts'
import { configurationFailure } from './change-failures.ts'
import { sendConfiguration } from './sent-configuration.ts'
import { type ChangeOptions, changeSettings, verifySettings } from './verify-settings.ts'

/** What applying a plan needs. */
export interface ApplyOptions extends ChangeOptions {
  directories: Directories
  settings: Pick<Settings, 'get' | 'update' | 'setApi'>
  /** As `Plan.service`, for the record of the last sent API configuration. */
  service: string
  /** Called with a warning about a successful request. */
  onWarning?(words: string): void | Promise<void>
}

/**
 * @param settings as they were read just now
 * @param sent the API configuration that was last sent from this machine. Matters only if it was sent after the
 *   plan was made, because another machine may have sent a later one.
 * @param hint the next step
 * @throws Failure `conflict` with each managed key that has changed since the plan was made
 */
export function assertCurrent(
  plan: Plan,
  settings: ApplicationSettings,
  sent: SentConfiguration | undefined,
  hint?: string,
): void {
  const drift = driftOf(plan.settings, settings, '')
  const words = drift.map(
    ({ path, was, is }) => `${path} was ${shownValue(path, was)} and is now ${shownValue(path, is)}`,
  )
  if (plan.api && sent && sent.sentAt >= plan.api.comparedAt) {
    const sentSince = driftOf(plan.api.managed, sent.configuration, 'api.')
    drift.push(...sentSince)
    words.push(...sentSince.map(({ path, is }) => describeSent(path, is, sent.sentAt)))
  }
  if (drift.length === 0) return
  throw new Failure('conflict', `The settings have changed since the plan was made: ${words.join('; ')}`, {
    details: { keys: drift },
    hint,
  })
}

function driftOf(managed: readonly ManagedKey[], current: object, prefix: string) {
  return managed.flatMap(({ path, from }) => {
    const is = foundAt(current, path)
    if (isSameValue(path, is, from)) return []
    return [{ path: `${prefix}${path}`, was: hideSecrets(from, path), is: hideSecrets(is, path) }]
  })
}

function describeSent(path: string, value: unknown, sentAt: string): string {
  return value === null
    ? `${path} was not in the configuration sent from this machine at ${sentAt}`
    : `${path} was sent from this machine as ${visibleJson(value)} at ${sentAt}`
}

/**
 * Sends the differences, settings before the API configuration, and reads the settings back after each. The API
 * configuration cannot be read back, so its response decides.
 *
 * @param before the settings as they were read just now
 * @throws Failure as `changeAndVerify`; as `configurationFailure`
 */
export async function applyPlan(plan: Plan, given: ApplyOptions, before: ApplicationSettings): Promise<void> {
  const { patch, configuration } = requestsOf(plan)
  const managed = leavesOf(settingsFileOf(plan).settings)
  const options = { ...given, onChanged: onlyOnce(given.onChanged) }
  let settings = before
  if (patch) {
    const outcome = await changeSettings(patch, options)
    settings = await verifySettings(managed, before, outcome, options)
  }
  if (!configuration) return
  const response = await applyConfiguration(configuration, patch !== undefined, options)
  if (managed.size > 0) await verifySettings(managed, settings, { method: 'POST', response }, options)
}

async function applyConfiguration(
  configuration: ApiConfiguration,
  afterSettings: boolean,
  { directories, service, settings, signal, clock, onChanged, onWarning }: ApplyOptions,
): Promise<ApiResponse<unknown>> {
  try {
    const send = () => settings.setApi(configuration)
    const response = await sendConfiguration(directories, service, configuration, send, { signal, clock })
    await onChanged?.()
    const failure = contradictionOf({ api: configuration }, { ...response, body: { api: response.body } })
    if (failure) throw failure
    if (response.warning !== undefined) await onWarning?.(response.warning)
    return response
  } catch (error) {
    const isFailure = error instanceof Failure
    if (isFailure ? error.isOutcomeUnknown : signal.aborted) await onChanged?.()
    throw isFailure ? configurationFailure(error, afterSettings) : error
  }
}

function onlyOnce(call: ApplyOptions['onChanged']): () => Promise<void> {
  let called = false
  return async () => {
    if (called) return
    called = true
    await call?.()
  }
}
