import type { ApiResponse } from '../../client/response/response.ts'
import type { Mismatch } from '../../contract/contradictions.ts'
import { afterColon, Failure, reasonOf } from '../../contract/failure.ts'
import { valueAt } from '../../contract/notation/tree.ts'
import { readBackPauses } from '../../contract/request-defaults.ts'
import type { ApplicationSettings, SettingsPatch } from '../../contract/resources/settings.ts'
import { settingsKeys } from '../../contract/resources/settings-file.ts'
import type { Run } from '../../run/run.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { describeMismatches, shownValue, withoutSecrets } from '../../view/failure-details.ts'
import { readCurrentSettings } from '../compare-settings.ts'
import { foundAt, isSameValue, type Leaves, valuesOf } from '../plan.ts'
import { withSettingsLock } from './settings-lock.ts'

/** The outcome of a request that changes something: a response, or a failure after which it may have changed. */
interface ChangeOutcome {
  method: 'PATCH' | 'POST'
  response?: ApiResponse<unknown> | undefined
  failure?: Failure | undefined
}

/** What the settings are compared with after a change. */
export interface Expected {
  /** The values of the managed keys. */
  managed: Leaves
  /** All settings before the change; undefined if they were not read. */
  before: ApplicationSettings | undefined
  /** The response to the change. A new value in it is proof, also if readings still have the value before. */
  response?: ApiResponse<unknown> | undefined
}

/** The settings as they were read back, and the response to the PATCH, if any. */
interface Verified {
  read: ApplicationSettings
  response: ApiResponse<unknown> | undefined
}

/** Changes settings, also those that have the values already. @throws Failure as `changeAndVerify` */
export async function setSettings(run: Run, patch: SettingsPatch): Promise<Verified> {
  return withSettingsLock(run, async () => {
    const before = await readBefore(run)
    return changeAndVerify(run, patch, { managed: valuesOf(patch), before })
  })
}

/** @returns undefined if the settings cannot be read */
async function readBefore(run: Run): Promise<ApplicationSettings | undefined> {
  try {
    return (await readCurrentSettings(run)).settings
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    run.noteSettings(null)
    return undefined
  }
}

/**
 * Sends a PATCH, and verifies by reading the settings back that every managed key has the wanted value.
 * @throws Failure `conflict` with each key that did not take effect; `unknown_outcome` if it may still take
 *   effect; the failure of the PATCH if it was refused
 */
export async function changeAndVerify(run: Run, patch: SettingsPatch, expected: Expected): Promise<Verified> {
  const { settings } = await run.connect()
  const outcome: ChangeOutcome = { method: 'PATCH' }
  try {
    // Undocumented settings were allowed when the patch was made.
    outcome.response = await settings.update(patch, { allowsUnknownFields: true })
  } catch (failure) {
    if (!(failure instanceof Failure) || !isWorthReading(failure, expected)) throw failure
    outcome.failure = failure
  }
  const { response } = outcome
  return { read: await verifySettings(run, { ...expected, response }, outcome), response }
}

/**
 * Whether a failed change may have had an effect that a reading would show. A service may return an error after a part
 * of the change, except if it rejected the credential or the rate.
 */
function isWorthReading({ isOutcomeUnknown, kind, status }: Failure, { before }: Expected): boolean {
  // Otherwise, the keys may have had the wanted values before.
  const isRefusal = before && status !== undefined && kind !== 'unauthorized' && kind !== 'rate_limited'
  return isOutcomeUnknown || isRefusal === true
}

/** Whether the change may still take effect: the response was lost, or is 202 (RFC 9110 section 15.3.3). */
function isPending({ method, response, failure }: ChangeOutcome): boolean {
  return failure?.isOutcomeUnknown ?? (method === 'PATCH' && response?.status === 202)
}

/**
 * Reads the settings until all managed keys have the wanted values, one has neither these nor the value before, or the
 * last pause has passed.
 * @returns the settings as they were last read
 */
export async function verifySettings(
  run: Run,
  { managed, before, response }: Expected,
  outcome: ChangeOutcome,
): Promise<ApplicationSettings> {
  const { failure } = outcome
  const isRefusal = failure !== undefined && !isPending(outcome)
  const isOld = ({ path, found }: Pick<Mismatch, 'path' | 'found'>) =>
    before !== undefined && isSameValue(path, found, foundAt(before, path))
  const isShown = ({ path, expected }: Pick<Mismatch, 'path' | 'expected'>) =>
    response !== undefined &&
    response.status !== 202 &&
    isSameValue(path, valueAt(response.body, path), expected)
  const isProven = [...managed].every(([path, expected]) => isShown({ path, expected }))
  const proof = isProven ? (response?.body as ApplicationSettings) : undefined
  const check = run.commandFor('settings', 'get', ...(managed.size === 1 ? managed.keys() : []))
  let read: ApplicationSettings | undefined
  let mismatches: Mismatch[] = []
  for (const ms of [0, ...readBackPauses]) {
    if (ms > 0) await run.clock.sleep(ms, run.signal)
    read = await readBack(run, outcome, check, read ?? proof)
    const now = [...managed].map(([path, expected]) => ({ path, expected, found: foundAt(read ?? {}, path) }))
    if (isRefusal && now.every(isOld)) throw failure
    mismatches = now
      .filter(({ path, expected, found }) => !isSameValue(path, found, expected))
      .filter((mismatch) => !(isOld(mismatch) && isShown(mismatch)))
    if (mismatches.length === 0 || (before && !mismatches.every(isOld))) break
  }
  if (proof && read === proof)
    await run.warn('The settings could not be read back. The response to the change has the new values')
  else if (before) await warnOfSideEffects(run, managed, before, read ?? {})
  if (mismatches.length > 0) {
    const isUnknown = isPending(outcome) && (!before || mismatches.every(isOld))
    if (!isUnknown) run.contradictSettings()
    throw notApplied(mismatches, outcome, check, isUnknown)
  }
  if (failure) {
    const reason =
      failure.status === undefined ? afterColon(failure.message) : `it returned ${failure.status}`
    await run.warn(`The settings have the new values, although the request failed: ${reason}`)
  }
  return read ?? {}
}

/** @param last the settings of an earlier reading or response, which are returned if this one fails */
async function readBack(
  run: Run,
  outcome: ChangeOutcome,
  check: string,
  last: ApplicationSettings | undefined,
): Promise<ApplicationSettings> {
  const { settings } = await run.connect()
  try {
    const { body } = await settings.get()
    return body ?? {}
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (last) return last
    throw outcome.failure && !isPending(outcome) ? outcome.failure : notReadBack(error, outcome, check)
  }
}

/** Only documented keys, because others, such as a modification time, change with every request. */
async function warnOfSideEffects(
  run: Run,
  managed: Leaves,
  before: ApplicationSettings,
  now: ApplicationSettings,
): Promise<void> {
  const words = settingsKeys.flatMap(({ path }) => {
    const [from, to] = [foundAt(before, path), foundAt(now, path)]
    if (managed.has(path) || isSameValue(path, from, to)) return []
    return [`${path} changed from ${visibleJson(from)} to ${visibleJson(to)}`]
  })
  if (words.length > 0) await run.warn(`Also changed, although not part of this change: ${words.join('; ')}`)
}

/**
 * The failure for keys without the wanted value. Its details are `{keys, status}`; without a response, the status is
 * null.
 * @param check the command that shows the settings
 * @param isUnknown whether the change may still take effect
 */
function notApplied(
  mismatches: readonly Mismatch[],
  outcome: ChangeOutcome,
  check: string,
  isUnknown: boolean,
): Failure {
  const found = mismatches.map(
    ({ path, expected, found }) => `${path} is ${shownValue(path, found)}, not ${shownValue(path, expected)}`,
  )
  const words = isUnknown
    ? `${unknown(outcome)}; ${found.join(', ')}`
    : `${describeMismatches(mismatches)} (${describeOutcome(outcome)})`
  return new Failure(isUnknown ? 'unknown_outcome' : 'conflict', words, {
    details: { keys: mismatches.map(withoutSecrets), status: statusOf(outcome) ?? null },
    advice: [{ code: 'check_settings', command: check }],
    isOutcomeUnknown: isUnknown,
    request: outcome.failure?.request,
    cause: outcome.failure,
  })
}

/** Failure `unknown_outcome` for a change that was made, or may have been, and cannot be read back. */
function notReadBack(reading: Failure, outcome: ChangeOutcome, check: string): Failure {
  const words =
    outcome.failure === undefined
      ? `The ${outcome.method} returned ${outcome.response?.status}, but the settings could not be read back`
      : `${unknown(outcome)}. The settings could not be read back`
  const cause = outcome.failure ?? reading
  return new Failure('unknown_outcome', `${words}: ${afterColon(reading.message)}`, {
    hint: reading.hint,
    advice: [...reading.advice, { code: 'check_settings', command: check }],
    isOutcomeUnknown: true,
    cause,
    request: cause.request,
  })
}

function unknown(outcome: ChangeOutcome): string {
  const reason = outcome.failure ? reasonOf(outcome.failure) : describeOutcome(outcome)
  return `The outcome of the change is unknown: ${reason}`
}

function describeOutcome(outcome: ChangeOutcome): string {
  const status = statusOf(outcome)
  if (status !== undefined) return `the ${outcome.method} returned ${status}`
  return `the ${outcome.method} had no response: ${afterColon(outcome.failure?.message ?? '')}`
}

function statusOf({ response, failure }: ChangeOutcome): number | undefined {
  return response?.status ?? failure?.status
}
