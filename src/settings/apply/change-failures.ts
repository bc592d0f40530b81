import type { ApiResponse } from '../../client/response/response.ts'
import type { Advice } from '../../contract/advice.ts'
import type { Mismatch } from '../../contract/contradictions.ts'
import { afterColon, Failure, reasonOf, unknownOutcome } from '../../contract/failure.ts'
import type { ApplicationSettings } from '../../contract/resources/settings.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { describeMismatches, shownValue, withoutSecrets } from '../../view/mismatches.ts'
import { type Change, foundAt, isSameValue } from '../plan.ts'

/** The outcome of a request that changes something: a response, or a failure after which it may have changed. */
export interface ChangeOutcome {
  method: 'PATCH' | 'POST'
  response?: ApiResponse<unknown>
  failure?: Failure
}

/** The managed keys as they were last read back. */
export interface Reading {
  /** All settings before the change; undefined if they were not read. */
  before: ApplicationSettings | undefined
  /** Paths of the keys that have changed to the wanted value. */
  changed: readonly string[]
  mismatches: readonly Mismatch[]
}

/**
 * Failure `conflict` with every key. Its details are `{keys, status}`; without a response, the status is null.
 *
 * @param check the command that shows the settings
 */
export function notApplied({ mismatches }: Reading, outcome: ChangeOutcome, check: string): Failure {
  const words = `${describeMismatches(mismatches)} (${describeOutcome(outcome)})`
  return aboutKeys('conflict', words, mismatches, outcome, check)
}

/**
 * The failure for a change that may still take effect: its response was lost, or is 202.
 *
 * @returns `conflict` if a key has neither the old nor the wanted value; else `unknown_outcome`
 */
export function mayStillApply(
  { before, changed, mismatches }: Reading,
  outcome: ChangeOutcome,
  check: string,
): Failure {
  const was = (path: string) => (before === undefined ? undefined : foundAt(before, path))
  const isOld = ({ path, found }: Mismatch) => before !== undefined && isSameValue(path, found, was(path))
  const old = mismatches.filter(isOld).map(({ path, found }) => `${path} is still ${shownValue(path, found)}`)
  const others = mismatches.filter((key) => !isOld(key))
  if (before !== undefined && others.length > 0) {
    const drifted = others.map(
      ({ path, expected, found }) =>
        `${path} is ${shownValue(path, found)}, neither the old value ${shownValue(path, was(path))} nor the new value ${shownValue(path, expected)}`,
    )
    const words = `${[...drifted, ...old].join('; ')} (${describeOutcome(outcome)})`
    return aboutKeys('conflict', words, others, outcome, check)
  }
  const found = others.map(
    ({ path, expected, found }) => `${path} is ${shownValue(path, found)}, not ${shownValue(path, expected)}`,
  )
  const changedPart = changed.length > 0 ? `; already changed: ${changed.join(', ')}` : ''
  const words = `${unknown(outcome)}; ${[...old, ...found].join(', ')}${changedPart}`
  return aboutKeys('unknown_outcome', words, mismatches, outcome, check)
}

/** Failure `unknown_outcome` for a change that was made, or may have been, and cannot be read back. */
export function notReadBack(reading: Failure, outcome: ChangeOutcome, check: string): Failure {
  const words =
    outcome.failure === undefined
      ? `The ${outcome.method} returned ${outcome.response?.status}, but the settings could not be read back`
      : `${unknown(outcome)}. The settings could not be read back`
  const cause = outcome.failure ?? reading
  return new Failure('unknown_outcome', `${words}: ${afterColon(reading.message)}`, {
    hint: reading.hint,
    advice: [...reading.advice, checkAdvice(check)],
    isOutcomeUnknown: true,
    cause,
    request: cause.request,
  })
}

/** The failure for the API configuration, which cannot be read back. */
export function configurationFailure(failure: Failure, afterSettings: boolean): Failure {
  const hint = 'The API configuration cannot be read back. Run the same command again to send it once more.'
  const judged = failure.isOutcomeUnknown ? unknownOutcome(failure, hint) : failure
  if (!afterSettings) return judged
  const done = 'The settings were changed and verified; '
  return judged.reworded(
    failure.isOutcomeUnknown
      ? `${done}the outcome of setting the API configuration is unknown: ${reasonOf(failure)}`
      : `${done}setting the API configuration failed: ${afterColon(failure.message)}`,
  )
}

function aboutKeys(
  kind: 'conflict' | 'unknown_outcome',
  words: string,
  keys: readonly Mismatch[],
  outcome: ChangeOutcome,
  check: string,
): Failure {
  const { failure } = outcome
  return new Failure(kind, words, {
    details: { keys: keys.map(withoutSecrets), status: statusOf(outcome) ?? null },
    advice: [checkAdvice(check)],
    isOutcomeUnknown: kind === 'unknown_outcome',
    request: failure?.request,
    cause: failure,
  })
}

function unknown(outcome: ChangeOutcome): string {
  const reason = outcome.failure ? reasonOf(outcome.failure) : describeOutcome(outcome)
  return `The outcome of the change is unknown: ${reason}`
}

function checkAdvice(command: string): Advice {
  return { code: 'check_settings', command }
}

function describeOutcome(outcome: ChangeOutcome): string {
  const status = statusOf(outcome)
  if (status !== undefined) return `the ${outcome.method} returned ${status}`
  return `the ${outcome.method} had no response: ${afterColon(outcome.failure?.message ?? '')}`
}

function statusOf({ response, failure }: ChangeOutcome): number | undefined {
  return response?.status ?? failure?.status
}

/** The warning about a failed request after which the settings have the wanted values. */
export function describeFailedRequest(failure: Failure): string {
  const reason = failure.status === undefined ? afterColon(failure.message) : `it returned ${failure.status}`
  return `The settings have the new values, although the request failed: ${reason}`
}

/** The warning about keys that have changed although the request did not contain them. */
export function describeSideEffect(changes: readonly Change[]): string {
  const words = changes.map(
    ({ path, from, to }) => `${path} changed from ${visibleJson(from)} to ${visibleJson(to)}`,
  )
  return `Also changed, although not part of this change: ${words.join('; ')}`
}
