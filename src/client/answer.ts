import type { Fault } from '../contract/faults.ts'

/** A 2xx answer of a documented endpoint. */
export interface Answer<T> {
  /** As the service sent it, unknown fields included; undefined where it sent none. */
  body: T | undefined
  status: number
  /** Names are lower-case. */
  headers: Record<string, string>
  /** The Location header, as sent. */
  location?: string
  requestId?: string
  /** Where the body departs from the documented types. */
  faults: Fault[]
  /** Something odd that did not make the answer useless, for a line on stderr. */
  warning?: string
}

/** Any answer to a request of `Client.send`. */
export interface RawAnswer {
  status: number
  statusText: string
  headers: Record<string, string>
  bytes: Uint8Array
  /** The bytes as UTF-8. */
  text: string
  /** Whether an error's body was longer than the 64 KiB that are read of one. */
  cut: boolean
  requestId?: string
}

/**
 * The content coding of an answer, undefined for none (RFC 9110 section 8.4: its names know no
 * case). We ask for none, so that one that comes is not understood.
 */
export function codingOf(headers: Record<string, string>): string | undefined {
  const coding = headers['content-encoding']?.trim() ?? ''
  return /^(identity)?$/i.test(coding) ? undefined : coding
}

/** The service's own id for a request, by the two header names in common use. */
export function requestIdOf(headers: Record<string, string>): string | undefined {
  return headers['x-request-id'] || headers['request-id'] || undefined
}
