import type { EndpointName } from '../contract/endpoints.ts'
import { isNumber, isRecord, parseJson } from '../contract/exact-json.ts'
import { secretParameter } from '../contract/secret-names.ts'

/** A request that changes something, before it is sent. */
export interface ChangeRequest {
  method: string
  /** Relative to the base URL; may have a query. */
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
  /** Number of fields that are not in `fields`. */
  fields_omitted?: number
  /** The body of a change of settings or of the API configuration. */
  values?: unknown
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

const maxText = 300
const maxFields = 100
const maxValuesLength = 16 * 1024
const hidden = '[redacted]'

export function recordedChange(request: ChangeRequest, endpoints: Endpoints): RecordedChange {
  const { method } = request
  const body = readBody(request.body)
  const fields = fieldsOf(body, '')
  const [path = ''] = request.path.split('?')
  const is = (endpoint: { method: string; path: string }) =>
    method === endpoint.method && path === endpoint.path
  const change: RecordedChange = {
    method,
    path: shorten(showPath(request)),
    fields: fields.slice(0, maxFields).map(shorten),
    ...(fields.length > maxFields && { fields_omitted: fields.length - maxFields }),
  }
  if (is(endpoints.updateSettings) || is(endpoints.setApiConfiguration)) {
    const values = withoutSecrets(body)
    if (JSON.stringify(values ?? null).length <= maxValuesLength) change.values = values
  }
  const email = isRecord(body) && is(endpoints.createUser) ? body['email'] : undefined
  if (typeof email === 'string') change.email = shorten(email)
  return change
}

function readBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body
  try {
    return parseJson(typeof body === 'string' ? body : new TextDecoder().decode(body))
  } catch {
    return undefined
  }
}

/** Every value that is not a non-empty object, by its dotted path. */
function fieldsOf(value: unknown, path: string): string[] {
  if (!isRecord(value) || Object.keys(value).length === 0) return path === '' ? [] : [path]
  return Object.entries(value).flatMap(([key, inner]) =>
    fieldsOf(inner, path === '' ? key : `${path}.${key}`),
  )
}

function showPath({ path, query }: ChangeRequest): string {
  if (!path.includes('?') && query === undefined) return path
  const url = new URL(path, 'http://any.invalid')
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.append(name, value)
  for (const name of new Set(url.searchParams.keys())) {
    if (secretParameter.test(name)) url.searchParams.set(name, 'redacted')
  }
  return path.split('?')[0] + url.search
}

/** Numbers and booleans are not secrets: `max_tokens`, for example. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (!isRecord(value)) return value
  const shown = Object.entries(value).map(([key, inner]) => {
    const isPlain = isNumber(inner) || typeof inner === 'boolean'
    return [key, secretParameter.test(key) && !isPlain ? hidden : withoutSecrets(inner)]
  })
  return Object.fromEntries(shown)
}

function shorten(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text
}
