import { contradictionsIn, type Mismatch } from '../contract/contradictions.ts'
import { Failure, unknownOutcome } from '../contract/failure.ts'
import { hideSecrets } from '../contract/secret-fields.ts'
import { visibleJson } from '../terminal/strip-controls.ts'

/** The parts of a failure that are shown. */
interface FailureSummary {
  message: string
  /** HTTP status, if the failure is a response. The details of other failures are in their message. */
  status?: number | undefined
  details?: unknown
}

/** The details from the service, if they contain text that its message does not, such as the error of a model server. */
export function describeDetails({ message, status, details }: FailureSummary): string | undefined {
  if (status === undefined || !addsText(details, message)) return undefined
  return `Details: ${JSON.stringify(details)}`
}

/** Message and details, on one line. */
export function describeFailure(failure: FailureSummary): string {
  const details = describeDetails(failure)
  return details === undefined ? failure.message : `${failure.message}. ${details}`
}

function addsText(details: unknown, message: string): boolean {
  if (typeof details !== 'object' || details === null) {
    return details !== undefined && typeof details !== 'boolean' && !message.includes(String(details))
  }
  // The code of a connection error is in the message in words.
  return Object.entries(details).some(
    ([key, inner]) => key !== 'model_server_cause' && addsText(inner, message),
  )
}

/**
 * The failure of a change whose response shows other values than those that were sent, although its status is 2xx.
 * @param hint how to check the effect
 * @param more contradictions that the caller has found
 * @returns undefined if the response contradicts nothing
 */
export function contradictionOf(
  sent: object,
  { status, body }: { status: number; body: unknown },
  hint?: string,
  more: readonly Mismatch[] = [],
): Failure | undefined {
  const mismatches = [...contradictionsIn(sent, body), ...more]
  if (mismatches.length === 0) return undefined
  const words = `The response with status ${status} shows that ${describeMismatches(mismatches)}`
  const details = { keys: mismatches.map(withoutSecrets), status }
  const failure = new Failure('conflict', words, { details, hint })
  // The change may still take effect (RFC 9110 section 15.3.3).
  return status === 202 ? unknownOutcome(failure, hint) : failure
}

export function describeMismatches(mismatches: readonly Mismatch[]): string {
  return mismatches
    .map(
      ({ path, expected, found }) =>
        `${path} did not take effect: expected ${shownValue(path, expected)}, found ${shownValue(path, found)}`,
    )
    .join('; ')
}

/** A value in a message, without a secret. */
export function shownValue(path: string, value: unknown): string {
  if (value === null || value === undefined) return 'not set'
  const text = visibleJson(hideSecrets(value, path))
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

export function withoutSecrets({ path, expected, found }: Mismatch): Mismatch {
  return { path, expected: hideSecrets(expected, path), found: hideSecrets(found, path) }
}
