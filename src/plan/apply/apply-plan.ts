import type { ApiResponse } from '../../client/response.ts'
import type { Settings as SettingsClient } from '../../client/settings.ts'
import type { ApiConfiguration } from '../../contract/api-configuration.ts'
import { Failure } from '../../contract/failure.ts'
import type { Settings } from '../../contract/settings.ts'
import type { Directories } from '../../system/directories.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { leavesOf } from '../leaves.ts'
import {
  fileOf,
  foundAt,
  isSame,
  type Managed,
  type Plan,
  requestsOf,
  type SentConfiguration,
} from '../plan.ts'
import { configurationFailure } from './change-failures.ts'
import { sendConfiguration } from './sent-configuration.ts'
import { type Changing, changeSettings, verifySettings } from './verify-settings.ts'

/** What applying a plan needs of its surroundings. */
export interface Applying extends Changing {
  directories: Directories
  settings: Pick<SettingsClient, 'get' | 'update' | 'setApi'>
  /** Whose record of what was last sent is kept: `Plan.service`. */
  service: string
  /** Told of something odd about a request that is done. */
  onWarning?(words: string): void | Promise<void>
}

/**
 * @param settings as they were read just now
 * @param sent what was last sent from here: another machine may have sent something else, so that it
 *   counts only where it was sent after the plan was made
 * @param hint what helps, where it is not to make the plan anew
 * @throws Failure `conflict` naming each managed key that has changed since the plan was made
 */
export function assertCurrent(
  plan: Plan,
  settings: Settings,
  sent: SentConfiguration | undefined,
  hint?: string,
): void {
  const drift = driftOf(plan.settings, settings, '')
  const words = drift.map(({ path, was, is }) => `${path} was ${shown(was)} and is now ${shown(is)}`)
  if (plan.api && sent && sent.sentAt >= plan.api.comparedAt) {
    const sentSince = driftOf(plan.api.managed, sent.configuration, 'api.')
    drift.push(...sentSince)
    words.push(...sentSince.map(({ path, is }) => describeSent(path, is, sent.sentAt)))
  }
  if (drift.length === 0) return
  throw new Failure('conflict', `The settings have changed since the plan was made: ${words.join('; ')}`, {
    details: { keys: drift },
    ...(hint === undefined ? { advice: [{ code: 'refresh_plan' }] } : { hint }),
  })
}

function driftOf(managed: readonly Managed[], current: object, prefix: string) {
  return managed.flatMap(({ path, from }) => {
    const is = foundAt(current, path)
    return isSame(path, is, from) ? [] : [{ path: `${prefix}${path}`, was: from, is }]
  })
}

function describeSent(path: string, value: unknown, sentAt: string): string {
  return value === null
    ? `${path} was not in the configuration sent from this machine at ${sentAt}`
    : `${path} was sent from this machine as ${visibleJson(value)} at ${sentAt}`
}

function shown(value: unknown): string {
  return value === null ? 'not set' : visibleJson(value)
}

/**
 * Sends what differs, settings before the API configuration, and reads back after each. The API
 * configuration itself cannot be read: its answer has to do.
 *
 * @param before the settings as they were read just now
 * @throws Failure as `changeAndVerify` does; that of the API configuration
 */
export async function applyPlan(plan: Plan, given: Applying, before: Settings): Promise<void> {
  const { patch, configuration } = requestsOf(plan)
  const managed = leavesOf(fileOf(plan).settings)
  const applying = { ...given, onTaken: onlyOnce(given.onTaken) }
  let settings = before
  if (patch) {
    const outcome = await changeSettings(patch, applying)
    settings = await verifySettings(managed, before, outcome, applying)
  }
  if (!configuration) return
  const answer = await applyConfiguration(configuration, patch !== undefined, applying)
  if (managed.size > 0) await verifySettings(managed, settings, { what: 'POST', answer }, applying)
}

async function applyConfiguration(
  configuration: ApiConfiguration,
  afterSettings: boolean,
  { directories, service, settings, signal, clock, onTaken, onWarning }: Applying,
): Promise<ApiResponse<unknown>> {
  try {
    const send = () => settings.setApi(configuration)
    const answer = await sendConfiguration(directories, service, configuration, send, { signal, clock })
    await onTaken?.()
    if (answer.warning !== undefined) await onWarning?.(answer.warning)
    return answer
  } catch (error) {
    const isFailure = error instanceof Failure
    if (isFailure ? error.isOutcomeUnknown : signal.aborted) await onTaken?.()
    throw isFailure ? configurationFailure(error, afterSettings) : error
  }
}

function onlyOnce(call: Applying['onTaken']): () => Promise<void> {
  let called = false
  return async () => {
    if (called) return
    called = true
    await call?.()
  }
}
