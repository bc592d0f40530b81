/** What a failure says, as far as it matters here. */
interface Told {
  message: string
  /** HTTP status, where the service said it: our own details are all in the message. */
  status?: number | undefined
  details?: unknown
}

/** The service's details, where they hold a text that its message does not, such as a model server's words. */
export function describeDetails({ message, status, details }: Told): string | undefined {
  if (status === undefined || !saysMore(details, message)) return undefined
  return `Details: ${JSON.stringify(details)}`
}

/** Message and details on one line. */
export function describeFailure(failure: Told): string {
  const details = describeDetails(failure)
  return details === undefined ? failure.message : `${failure.message}. ${details}`
}

function saysMore(details: unknown, message: string): boolean {
  if (typeof details !== 'object' || details === null) {
    return details !== undefined && !message.includes(String(details))
  }
  return Object.values(details).some((inner) => saysMore(inner, message))
}
