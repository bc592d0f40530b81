import type { EndpointName } from '../contract/endpoints.ts'
import { isRecord, parseJson, tryParse } from '../contract/notation/exact-json.ts'
import { leavesOf, valueAt } from '../contract/notation/tree.ts'
import { hideSecretParameters, hideSecrets } from '../contract/secret-fields.ts'

/** A request that changes something, before it is sent. */
export interface ChangeRequest {
  method: string
  /** If it is not the service of the run. */
  service?: string
  /** Relative to the base URL of the service; may have a query. */
  path: string
  query?: Record<string, string>
  /** A JSON value, or its text. */
  body?: unknown
}

/** What the log records of a request. It contains no secret, and of users no values except the email address. */
export interface RecordedChange {
  method: string
  path: string
  /** Dotted paths of the fields in the body. */
  fields: readonly string[]
  /** The body of a change of settings or of the API configuration. */
  values?: unknown
  /** Of a change of settings: the values that the fields had, by their paths. Absent if they were not read. */
  before?: Record<string, unknown>
  /** Of a new user. */
  email?: string
}

/** The table of endpoints, as a parameter: with it, this bundle would contain the schemas of the whole contract. */
export type Endpoints = Readonly<
  Record<
    Extract<EndpointName, 'createUser' | 'updateSettings' | 'setApiConfiguration'>,
    { method: string; path: string }
  >
>

/** @param before the settings as they were read before the change */
export function recordedChange(
  request: ChangeRequest,
  endpoints: Endpoints,
  before?: object,
): RecordedChange {
  const { method } = request
  const body = readBody(request.body)
  // JSON has no undefined values.
  const fields = leavesOf(body).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  const [path = ''] = request.path.split('?', 1)
  const is = (endpoint: { method: string; path: string }) =>
    method === endpoint.method && path === endpoint.path
  const change: RecordedChange = {
    method,
    path: showPath(request),
    fields,
  }
  if (is(endpoints.updateSettings) || is(endpoints.setApiConfiguration)) {
    change.values = hideSecrets(body)
  }
  if (before && is(endpoints.updateSettings)) {
    const values = fields.map((path) => [path, hideSecrets(valueAt(before, path), path)])
    change.before = Object.fromEntries(values.filter(([, value]) => value !== undefined))
  }
  const email = isRecord(body) && is(endpoints.createUser) ? body['email'] : undefined
  if (typeof email === 'string') change.email = email
  return change
}

function readBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body
  return tryParse(typeof body === 'string' ? body : new TextDecoder().decode(body), parseJson)
}

function showPath({ path, query }: ChangeRequest): string {
  const whole = query === undefined ? path : `${path}?${new URLSearchParams(query)}`
  return whole.includes('?') ? hideSecretParameters(whole) : whole
}
