import type { ApiResponse } from '../../client/response/response.ts'
import type { Settings } from '../../client/settings.ts'
import type { Mismatch } from '../../contract/contradictions.ts'
import { afterColon, Failure, reasonOf } from '../../contract/failure.ts'
import type { ApplicationSettings, SettingsPatch } from '../../contract/resources/settings.ts'
import { settingsKeys } from '../../contract/resources/settings-file.ts'
import type { Clock } from '../../system/clock.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { describeMismatches, shownValue, withoutSecrets } from '../../view/failure-details.ts'
import { foundAt, isSameValue, type Leaves, valuesOf } from '../plan.ts'

/** What changing settings needs. */
export interface ChangeOptions {
  settings: Pick<Settings, 'get' | 'update'>
  signal: AbortSignal
  /** The command that shows the settings, for a hint. */
  check: string
  clock: Clock
  warn(words: string): void | Promise<void>
  /**
   * Called after each request that has taken effect, or may have. Must not throw, because the change is not
   * verified yet.
   */
  onChanged?(): void | Promise<void>
}

/** The outcome of a request that changes something: a response, or a failure after which it may have changed. */
interface ChangeOutcome {
  method: 'PATCH' | 'POST'
  response?: ApiResponse<unknown>
  failure?: Failure
}

/** What the settings are compared with after a change. */
export interface Expected {
  /** The values of the managed keys. */
  managed: Leaves
  /** All settings before the change; undefined if they were not read. */
  before: ApplicationSettings | undefined
}

/**
 * Sends a PATCH, and verifies by reading the settings back that every managed key has the wanted value.
 *
 * @returns the settings as they were read back, and the response to the PATCH, if any
 * @throws Failure `conflict` with each key that did not take effect; `unknown_outcome` if it may still take
 *   effect; the failure of the PATCH if it was refused
 */
export async function changeAndVerify(
  patch: SettingsPatch,
  changing: ChangeOptions,
  expected: Expected = { managed: valuesOf(patch), before: undefined },
): Promise<{ read: ApplicationSettings; response: ApiResponse<unknown> | undefined }> {
  const outcome = await sendPatch(patch, changing)
  // After a refusal, reading proves nothing, because the keys may have had the wanted values before.
  if (!expected.before && outcome.failure && !outcome.failure.isOutcomeUnknown) throw outcome.failure
  return { read: await verifySettings(expected, outcome, changing), response: outcome.response }
}

/**
 * @returns the response, or a failure after which the settings must be read back
 * @throws Failure if the request certainly had no effect
 */
async function sendPatch(
  patch: SettingsPatch,
  { settings, signal, onChanged }: ChangeOptions,
): Promise<ChangeOutcome> {
  let response: ApiResponse<unknown>
  try {
    // Undocumented settings were allowed when the patch was made.
    response = await settings.update(patch, { allowsUnknownFields: true })
  } catch (failure) {
    const isOutcomeUnknown = failure instanceof Failure ? failure.isOutcomeUnknown : signal.aborted
    if (isOutcomeUnknown) await onChanged?.()
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
  { managed, before }: Expected,
  outcome: ChangeOutcome,
  changing: ChangeOptions,
): Promise<ApplicationSettings> {
  const { failure } = outcome
  const isStillPending = isPending(outcome)
  let read = await readBack(outcome, changing, undefined)
  for (const ms of isStillPending ? longPauses : pauses) {
    if (mismatchesIn(managed, read).length === 0) break
    if (failure && !isStillPending && isUnchanged(managed, before, read)) throw failure
    await changing.clock.sleep(ms, changing.signal)
    read = await readBack(outcome, changing, read)
  }
  if (failure && !isStillPending) await changing.onChanged?.()
  if (before) await warnOfSideEffects(managed, before, read, changing)
  const mismatches = mismatchesIn(managed, read)
  if (mismatches.length > 0) throw notApplied(mismatches, before, outcome, changing.check)
  if (failure) {
    const reason =
      failure.status === undefined ? afterColon(failure.message) : `it returned ${failure.status}`
    await changing.warn(`The settings have the new values, although the request failed: ${reason}`)
  }
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

function mismatchesIn(managed: Leaves, now: ApplicationSettings): Mismatch[] {
  return [...managed]
    .map(([path, expected]) => ({ path, expected, found: foundAt(now, path) }))
    .filter(({ path, expected, found }) => !isSameValue(path, found, expected))
}

function isUnchanged(
  managed: Leaves,
  before: ApplicationSettings | undefined,
  now: ApplicationSettings,
): boolean {
  if (!before) return false
  return [...managed.keys()].every((path) => isSameValue(path, foundAt(now, path), foundAt(before, path)))
}

/** Only documented keys, because others, such as a modification time, change with every request. */
async function warnOfSideEffects(
  managed: Leaves,
  before: ApplicationSettings,
  now: ApplicationSettings,
  { warn }: ChangeOptions,
): Promise<void> {
  const words = settingsKeys.flatMap(({ path }) => {
    const [from, to] = [foundAt(before, path), foundAt(now, path)]
    if (managed.has(path) || isSameValue(path, from, to)) return []
    return [`${path} changed from ${visibleJson(from)} to ${visibleJson(to)}`]
  })
  if (words.length > 0) await warn(`Also changed, although not part of this change: ${words.join('; ')}`)
}

/**
 * The failure for keys without the wanted value. Its details are `{keys, status}`; without a response, the status is
 * null.
 *
 * @param check the command that shows the settings
 * @returns `unknown_outcome` if the change may still take effect, unless a key has neither the old nor the wanted
 *   value; else `conflict`
 */
function notApplied(
  mismatches: readonly Mismatch[],
  before: ApplicationSettings | undefined,
  outcome: ChangeOutcome,
  check: string,
): Failure {
  const isOther = ({ path, found }: Mismatch) => before && !isSameValue(path, found, foundAt(before, path))
  const isUnknown = isPending(outcome) && !mismatches.some(isOther)
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
