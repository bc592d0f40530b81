import { Refusal } from '../domain/refusal.ts'

const timeouts = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** There was no connection: nothing was asked, and asking again costs nothing. */
const unconnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/**
 * What a caller is told of a failure between the service and its model server; the signal's reason
 * where it was aborted. Only the log, through the cause, has the server's address.
 */
export function upstreamRefusal(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof Refusal) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code && timeouts.has(code)) {
    return new Refusal('upstream_timeout', `The model server did not answer in time`, { cause: error })
  }
  if (code && unconnected.has(code)) {
    return new Refusal('upstream_unreachable', `The model server cannot be reached (${code})`, {
      cause: error,
    })
  }
  const why = code ? ` (${code})` : ''
  return new Refusal('upstream_error', `The model server broke off${why}`, { cause: error })
}

export const unusable = (what: string, cause?: unknown): Refusal =>
  new Refusal('upstream_error', `The model server ${what}`, { cause })
