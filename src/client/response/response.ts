import type { Failure } from '../../contract/failure.ts'
import type { Fault } from '../../contract/faults.ts'
import { idIn } from '../../contract/resources/user.ts'

/** A successful response (2xx) of a documented endpoint. */
export interface ApiResponse<T> {
  /**
   * The body as the service sent it, unknown fields included; undefined if it sent none. Nothing but
   * the fields without which a response is useless is guaranteed: see `faults`.
   */
  body: T | undefined
  /** The HTTP status. */
  status: number
  /** Names are lower case. */
  headers: Record<string, string>
  /** The `Location` header, as sent. */
  location?: string | undefined
  /** The service's own id for the request, if it sent one. */
  requestId?: string | undefined
  /** Where the body departs from the documented types. */
  faults: Fault[]
  /** What is unusual about a response that is still usable, in one sentence. */
  warning?: string
}

/** Any response to a request of `Client.send` or `Client.request`. */
export interface RawResponse {
  /** The HTTP status. */
  status: number
  statusText: string
  /** Names are lower case. */
  headers: Record<string, string>
  /** The body. Where that of an error repeats the credential, it is redacted. */
  bytes: Uint8Array
  /** The bytes as UTF-8. */
  text: string
  /** Whether the body is only the first part of that of an error, which was longer than `maxBodyMiB` or truncated. */
  cut: boolean
  /** What `Client.request` rejects with for this status; undefined for 2xx. */
  failure?: Failure
  /** The service's own id for the request, if it sent one. */
  requestId?: string | undefined
}

/** The ID that the service gave the request, from the two common headers. */
export function requestIdOf(headers: Record<string, string>): string | undefined {
  return headers['x-request-id'] || headers['request-id'] || undefined
}

/** The last segment of the path at which users are created. */
const collection = 'users'

/**
 * The id of the user that `Users.create` created: the body's, else the last segment of the `Location`
 * header (docs/interface.md, "Endpoints", rule 3, does not show the body). Undefined if neither names
 * one: a `Location` may be that of all users.
 */
export function idOfCreated({ body, location }: ApiResponse<unknown>): string | undefined {
  return idIn(body) ?? (location === undefined ? undefined : lastSegment(location))
}

function lastSegment(location: string): string | undefined {
  try {
    const segment = new URL(location, 'http://any.invalid').pathname.split('/').filter(Boolean).at(-1)
    return segment === undefined || segment === collection ? undefined : decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
