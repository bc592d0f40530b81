import type { Answer } from '../../client/answer.ts'
import { Failure } from '../../failure.ts'
import { visibleJson } from '../../view/strip-controls.ts'

/** What came of a request that changes something: an answer, or a failure that may have changed it too. */
export interface Outcome {
  what: 'PATCH' | 'POST'
  answer?: Answer<unknown>
  failure?: Failure
}

/** A managed key that is not as it was wanted. */
export interface Untaken {
  path: string
  wanted: unknown
  /** null where the service has none. */
  found: unknown
}

/** Failure `conflict` naming every key; details `{keys, status}`, the status null without an answer. */
export function didNotTake(keys: readonly Untaken[], outcome: Outcome): Failure {
  const words = keys.map(
    ({ path, wanted, found }) =>
      `${path} did not take: it is ${found === null ? 'not there' : shown(found)}, not ${shown(wanted)}`,
  )
  const { failure } = outcome
  return new Failure('conflict', `${words.join('; ')} (${describeOutcome(outcome)})`, {
    details: { keys, status: statusOf(outcome) ?? null },
    hint: 'chatctl settings get shows what the service has.',
    ...(failure?.request === undefined ? {} : { request: failure.request }),
    ...(failure === undefined ? {} : { cause: failure }),
  })
}

/** The failure of a reading after a change that is not in doubt. */
export function notReadBack(failure: Failure, outcome: Outcome): Failure {
  return failure.reworded(
    `The change was sent and answered ${outcome.answer?.status}, but could not be read back: ${failure.message}`,
    [failure.hint, 'chatctl settings get shows whether it took.'].filter(Boolean).join(' '),
  )
}

/** The failure of the API configuration, where the settings were changed before it. */
export function afterSettingsChanged(failure: Failure): Failure {
  const words = 'The settings were changed and verified; setting the API configuration failed'
  return failure.reworded(`${words}: ${failure.message}`)
}

function describeOutcome(outcome: Outcome): string {
  const status = statusOf(outcome)
  if (status !== undefined) return `the ${outcome.what} was answered ${status}`
  return `the ${outcome.what} had no answer: ${outcome.failure?.message}`
}

function statusOf({ answer, failure }: Outcome): number | undefined {
  return answer?.status ?? failure?.status
}

function shown(value: unknown): string {
  const text = visibleJson(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
