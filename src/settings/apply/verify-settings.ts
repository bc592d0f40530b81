import type { ApiResponse } from '../../client/response/response.ts'
import type { Settings } from '../../client/settings.ts'
import { Failure } from '../../contract/failure.ts'
import type { ApplicationSettings, SettingsPatch } from '../../contract/resources/settings.ts'
import { settingsKeys } from '../../contract/resources/settings-keys.ts'
import type { Clock } from '../../system/clock.ts'
import { type Leaves, leavesOf } from '../leaves.ts'
import { type Change, foundAt, isSameValue } from '../plan.ts'
import {
  type ChangeOutcome,
  mayStillApply,
  notApplied,
  notReadBack,
  type Reading,
} from './change-failures.ts'

/** What changing settings needs. */
export interface ChangeOptions {
  settings: Pick<Settings, 'get' | 'update'>
  signal: AbortSignal
  /** The command that shows the settings, for a hint. */
  check: string
  clock: Clock
  /** Called if the settings have the wanted values although the request failed. */
  onFailedRequest(failure: Failure): void | Promise<void>
  /** Called with other keys that have changed too. */
  onSideEffect(changes: Change[]): void | Promise<void>
  /**
   * Called after a request has taken effect, or may have. Must not throw, because the change is not verified
   * yet.
   */
  onChanged?(): void | Promise<void>
}

/**
 * Changes settings without reading them first, and verifies by reading them back that every key of the patch has
 * taken effect.
 *
 * @returns the settings as they were read back, and the response to the PATCH, if any
 * @throws Failure `conflict` with each key that did not take effect; `unknown_outcome` if it may still take
 *   effect; the failure of the PATCH if it was refused
 */
export async function changeAndVerify(
  patch: SettingsPatch,
  changing: ChangeOptions,
): Promise<{ read: ApplicationSettings; response?: ApiResponse<unknown> }> {
  const outcome = await changeSettings(patch, changing)
  // After a refusal, reading proves nothing, because the keys may have had the wanted values before.
  if (outcome.failure && !outcome.failure.isOutcomeUnknown) throw outcome.failure
  const read = await verifySettings(leavesOf(patch), undefined, outcome, changing)
  return { read, ...(outcome.response && { response: outcome.response }) }
}

/**
 * Sends the PATCH.
 *
 * @returns the response, or a failure after which the settings must be read back
 * @throws Failure if the request certainly had no effect
 */
export async function changeSettings(
  patch: SettingsPatch,
  { settings, signal, onChanged }: ChangeOptions,
): Promise<ChangeOutcome> {
  let response: ApiResponse<unknown>
  try {
    // Keys that the interface does not document were allowed when the patch was made.
    response = await settings.update(patch, { allowsUnknownFields: true })
  } catch (failure) {
    const isOutcomeUnknown = failure instanceof Failure ? failure.isOutcomeUnknown : signal.aborted
    if (isOutcomeUnknown) await onChanged?.()
    // The request certainly had no effect, so there is nothing to read back.
    if (!(failure instanceof Failure) || !(isOutcomeUnknown || mayHaveDoneSome(failure))) throw failure
    return { method: 'PATCH', failure }
  }
  await onChanged?.()
  return { method: 'PATCH', response }
}

/** A service may return an error after a part of the change, except if it rejected the credential or the rate. */
function mayHaveDoneSome({ kind, status }: Failure): boolean {
  return status !== undefined && kind !== 'unauthorized' && kind !== 'rate_limited'
}

/** Pauses in ms before each repeated reading, because a service may return old values for a short time. */
const pauses = [300, 1_000]

/** The same if the service may still be processing the change: 5 s in total. */
const longPauses = [300, 700, 1_500, 2_500]

/** Whether the change may still take effect: the response was lost, or is 202 (RFC 9110 section 15.3.3). */
function isPending({ method, response, failure }: ChangeOutcome): boolean {
  return failure?.isOutcomeUnknown ?? (method === 'PATCH' && response?.status === 202)
}

/**
 * Reads the settings until all managed keys have the wanted values, or until the last pause has passed.
 *
 * @returns the settings as they were last read
 */
export async function verifySettings(
  managed: Leaves,
  before: ApplicationSettings | undefined,
  outcome: ChangeOutcome,
  changing: ChangeOptions,
): Promise<ApplicationSettings> {
  const { failure } = outcome
  const isStillPending = isPending(outcome)
  let read = await readBack(outcome, changing, undefined)
  let reading = compare(managed, before, read)
  for (const ms of isStillPending ? longPauses : pauses) {
    if (reading.mismatches.length === 0) break
    if (failure && !isStillPending && isAsBefore(managed, before, read)) throw failure
    await changing.clock.sleep(ms, changing.signal)
    read = await readBack(outcome, changing, read)
    reading = compare(managed, before, read)
  }
  if (failure && !isStillPending) await changing.onChanged?.()
  const sideEffects = before ? sideEffectsOf(managed, before, read) : []
  if (sideEffects.length > 0) await changing.onSideEffect(sideEffects)
  if (reading.mismatches.length > 0)
    throw (isStillPending ? mayStillApply : notApplied)(reading, outcome, changing.check)
  if (failure) await changing.onFailedRequest(failure)
  return read
}

/** @param last the settings of an earlier reading, which are returned if this one fails */
async function readBack(
  outcome: ChangeOutcome,
  { settings, check }: ChangeOptions,
  last: ApplicationSettings | undefined,
): Promise<ApplicationSettings> {
  try {
    const { body } = await settings.get()
    return body ?? {}
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (last) return last
    throw outcome.failure && !isPending(outcome) ? outcome.failure : notReadBack(error, outcome, check)
  }
}

function compare(
  managed: Leaves,
  before: ApplicationSettings | undefined,
  now: ApplicationSettings,
): Reading {
  const keys = [...managed].map(([path, expected]) => ({ path, expected, found: foundAt(now, path) }))
  const mismatches = keys.filter(({ path, expected, found }) => !isSameValue(path, found, expected))
  const isChanged = (path: string) => !before || !isSameValue(path, foundAt(before, path), foundAt(now, path))
  const changed = keys
    .filter((key) => isChanged(key.path) && !mismatches.includes(key))
    .map(({ path }) => path)
  return { before, changed, mismatches }
}

function isAsBefore(
  managed: Leaves,
  before: ApplicationSettings | undefined,
  now: ApplicationSettings,
): boolean {
  if (!before) return false
  return [...managed.keys()].every((path) => isSameValue(path, foundAt(now, path), foundAt(before, path)))
}

/** Only documented keys, because others, such as a modification time, change with every request. */
function sideEffectsOf(managed: Leaves, before: ApplicationSettings, now: ApplicationSettings): Change[] {
  return settingsKeys.flatMap(({ path }) => {
    const [from, to] = [foundAt(before, path), foundAt(now, path)]
    return managed.has(path) || isSameValue(path, from, to) ? [] : [{ path, from, to }]
  })
}
