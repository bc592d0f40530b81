import { Refusal } from '../domain/refusal.ts'

const timeouts = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** There was no connection: nothing was asked, and asking again costs nothing. */
const unconnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** What a caller is told of a failure between the service and its model server; the signal's reason where it was aborted. */
export function upstreamRefusal(error: unknown, signal: AbortSignal, shownAs: string | undefined): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof Refusal) return error
  const server = shownAs === undefined ? 'the model server' : `the model server at ${shownAs}`
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code && timeouts.has(code)) {
    return new Refusal('upstream_timeout', `${capital(server)} did not answer in time`, { cause: error })
  }
  if (code && unconnected.has(code)) {
    return new Refusal('upstream_unreachable', `${capital(server)} cannot be reached (${code})`, {
      cause: error,
    })
  }
  const why = code ? ` (${code})` : ''
  return new Refusal('upstream_error', `${capital(server)} broke off${why}`, { cause: error })
}

export const unusable = (what: string, cause?: unknown): Refusal =>
  new Refusal('upstream_error', `The model server ${what}`, { cause })

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
