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
  return Object.entries(details).some(([key, inner]) => key !== 'upstream_cause' && addsText(inner, message))
}
