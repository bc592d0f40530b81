import type { ApiResponse } from '../../client/response.ts'
import type { Advice } from '../../contract/advice.ts'
import { afterColon, Failure, unknownOutcome } from '../../contract/failure.ts'
import type { Settings } from '../../contract/settings.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { type Change, foundAt, isSame } from '../plan.ts'

/** What came of a request that changes something: a response, or a failure that may have changed it too. */
export interface Outcome {
  what: 'PATCH' | 'POST'
  answer?: ApiResponse<unknown>
  failure?: Failure
}

/** A managed key that is not as it was wanted. */
interface Untaken {
  path: string
  wanted: unknown
  /** null where the service has none. */
  found: unknown
}

/** The managed keys as they were read back last. */
export interface Reading {
  /** All settings before the change; undefined where they were not read. */
  before: Settings | undefined
  taken: readonly string[]
  untaken: readonly Untaken[]
}

/**
 * Failure `conflict` naming every key; details `{keys, status}`, the status null without a response.
 *
 * @param check the command that shows what the settings are
 */
export function didNotTake({ untaken }: Reading, outcome: Outcome, check: string): Failure {
  const words = untaken.map(
    ({ path, wanted, found }) =>
      `${path} did not take effect: expected ${shown(wanted)}, found ${shown(found)}`,
  )
  return aboutKeys('conflict', `${words.join('; ')} (${describeOutcome(outcome)})`, untaken, outcome, check)
}

/**
 * The failure of a change that the service may still make: its response was lost, or only accepts it.
 *
 * @returns `conflict` where a key is neither as before nor as wanted; else `unknown_outcome`
 */
export function mayStillTake({ before, taken, untaken }: Reading, outcome: Outcome, check: string): Failure {
  const was = (path: string) => (before === undefined ? undefined : foundAt(before, path))
  const isOld = ({ path, found }: Untaken) => before !== undefined && isSame(path, found, was(path))
  const old = untaken.filter(isOld).map(({ path, found }) => `${path} is still ${shown(found)}`)
  const others = untaken.filter((key) => !isOld(key))
  if (before !== undefined && others.length > 0) {
    const drifted = others.map(
      ({ path, wanted, found }) =>
        `${path} is ${shown(found)}, neither the old value ${shown(was(path))} nor the new value ${shown(wanted)}`,
    )
    const words = `${[...drifted, ...old].join('; ')} (${describeOutcome(outcome)})`
    return aboutKeys('conflict', words, others, outcome, check)
  }
  const found = others.map(({ path, wanted, found }) => `${path} is ${shown(found)}, not ${shown(wanted)}`)
  const changed = taken.length > 0 ? `; already changed: ${taken.join(', ')}` : ''
  const words = `${unknown(outcome)}; ${[...old, ...found].join(', ')}${changed}`
  return aboutKeys('unknown_outcome', words, untaken, outcome, check)
}

/** Failure `unknown_outcome` of a change that was answered, or may have been made, and cannot be read back. */
export function notReadBack(reading: Failure, outcome: Outcome, check: string): Failure {
  const words =
    outcome.failure === undefined
      ? `The ${outcome.what} returned ${outcome.answer?.status}, but the settings could not be read back`
      : `${unknown(outcome)}. The settings could not be read back`
  const cause = outcome.failure ?? reading
  return new Failure('unknown_outcome', `${words}: ${reading.message}`, {
    hint: reading.hint,
    advice: [...reading.advice, checkAdvice(check)],
    inDoubt: true,
    cause,
    ...(cause.request === undefined ? {} : { request: cause.request }),
  })
}

/** The failure of the API configuration, which nothing shows but the response to it. */
export function configurationFailure(failure: Failure, afterSettings: boolean): Failure {
  const hint = 'The API configuration cannot be read back. Run the same command again to send it once more.'
  const judged = failure.inDoubt ? unknownOutcome(failure, hint) : failure
  if (!afterSettings) return judged
  const done = 'The settings were changed and verified; '
  return judged.reworded(
    failure.inDoubt
      ? `${done}the outcome of setting the API configuration is unknown: ${afterColon(failure.message)}`
      : `${done}setting the API configuration failed: ${afterColon(failure.message)}`,
  )
}

function aboutKeys(
  kind: 'conflict' | 'unknown_outcome',
  words: string,
  keys: readonly Untaken[],
  outcome: Outcome,
  check: string,
): Failure {
  const { failure } = outcome
  return new Failure(kind, words, {
    details: { keys, status: statusOf(outcome) ?? null },
    advice: [checkAdvice(check)],
    inDoubt: kind === 'unknown_outcome',
    ...(failure?.request === undefined ? {} : { request: failure.request }),
    ...(failure === undefined ? {} : { cause: failure }),
  })
}

function unknown(outcome: Outcome): string {
  const reason = outcome.failure ? afterColon(outcome.failure.message) : describeOutcome(outcome)
  return `The outcome of the change is unknown: ${reason}`
}

function checkAdvice(command: string): Advice {
  return { code: 'check_settings', command }
}

function describeOutcome(outcome: Outcome): string {
  const status = statusOf(outcome)
  if (status !== undefined) return `the ${outcome.what} returned ${status}`
  return `the ${outcome.what} had no response: ${afterColon(outcome.failure?.message ?? '')}`
}

function statusOf({ answer, failure }: Outcome): number | undefined {
  return answer?.status ?? failure?.status
}

function shown(value: unknown): string {
  if (value === null) return 'not set'
  const text = visibleJson(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** A change whose request failed, although the settings are as wanted. */
export function describeDoubt(failure: Failure): string {
  const answer = failure.status === undefined ? afterColon(failure.message) : `it returned ${failure.status}`
  return `The settings have the new values, although the request failed: ${answer}`
}

/** What changed without having been asked for. */
export function describeSideEffect(changes: readonly Change[]): string {
  const words = changes.map(
    ({ path, from, to }) => `${path} changed from ${visibleJson(from)} to ${visibleJson(to)}`,
  )
  return `Also changed, although not part of this change: ${words.join('; ')}`
}
