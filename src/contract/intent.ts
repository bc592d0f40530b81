import type { EndpointName } from './endpoints.ts'
import { hashOfField, managedFields } from './managed-fields.ts'
import { isRecord, parseJson, tryParse } from './notation/exact-json.ts'
import { leavesOf, valueAt } from './notation/tree.ts'
import { hideSecretParameters, hideSecrets } from './secret-fields.ts'

/** What a change is about.  */
export interface Subject {
  /** Of a new user, in lower case. */
  email?: string | undefined
  /** ID of the user that the path names or, in an outcome, that was created. */
  user?: string | undefined
  about?: 'settings' | 'api' | undefined
}

/**
 * What is recorded of a request before it is sent. It contains no secret, and of users no values except the email
 * address.
 */
export interface Intent extends Subject {
  /** The email as it is sent, if it has capital letters. */
  email_as?: string | undefined
  method: string
  path: string
  /** Dotted paths of the fields in the body. */
  fields: string[]
  /** Of a create: IDs of users with the email who no longer exist. */
  replaces?: readonly string[] | undefined
  /** Hashes of the managed fields of a user. */
  sent?: Record<string, string> | undefined
  /** The body of a change of the settings or the API configuration. */
  values?: unknown
  /** Of a change of settings: the values that the fields had, by their paths. Absent if they were not read. */
  before?: Record<string, unknown> | undefined
}

const userEndpoints: readonly unknown[] = ['createUser', 'updateUser', 'assignPermissions']

/** A request that changes something, before it is sent. */
export interface Change {
  method: string
  /** Relative to the base URL of the service; may have a query. */
  path: string
  query?: Record<string, string> | undefined
  /** A JSON value, or its text. */
  body?: unknown
  /** Undefined if the interface does not document the request. */
  endpoint: EndpointName | undefined
  /** ID of the user that the path names. */
  user: string | undefined
  /** The settings as they were read before. */
  before?: object | undefined
  replaces?: readonly string[] | undefined
}

export function intentOf(change: Change): Intent {
  const { method, endpoint, user, before, replaces } = change
  const body = readBody(change.body)
  // JSON has no undefined values.
  const fields = leavesOf(body).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  const email = endpoint === 'createUser' && isRecord(body) ? body['email'] : undefined
  const about =
    endpoint === 'updateSettings' ? 'settings' : endpoint === 'setApiConfiguration' ? 'api' : undefined
  const key = typeof email === 'string' ? email.toLowerCase() : undefined
  return {
    email: key,
    user,
    about,
    email_as: typeof email === 'string' && email !== key ? email : undefined,
    method,
    path: showPath(change),
    fields,
    replaces: endpoint === 'createUser' ? replaces : undefined,
    sent: userEndpoints.includes(endpoint) && isRecord(body) ? hashesOf(body) : undefined,
    values: about && hideSecrets(body),
    before: about === 'settings' && before ? valuesBefore(before, fields) : undefined,
  }
}

function hashesOf(body: Record<string, unknown>): Record<string, string> {
  const { metadata, settings, ...rest } = body
  const fields = managedFields({
    ...rest,
    metadata: isRecord(metadata) ? metadata : {},
    settings: isRecord(settings) ? settings : {},
  })
  return Object.fromEntries([...fields].map(([path, value]) => [path, hashOfField(path, value)]))
}

function valuesBefore(before: object, fields: readonly string[]): Record<string, unknown> {
  const values = fields.map((path) => [path, hideSecrets(valueAt(before, path), path)])
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function readBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body
  return tryParse(typeof body === 'string' ? body : new TextDecoder().decode(body), parseJson)
}

function showPath({ path, query }: Change): string {
  const whole = query === undefined ? path : `${path}?${new URLSearchParams(query)}`
  return whole.includes('?') ? hideSecretParameters(whole) : whole
}
