import type { EndpointName } from '../../../contract/endpoints.ts'
import type { Fault } from '../../../contract/faults.ts'
import { orElse } from '../../../contract/or-else.ts'
import { passwordLength } from '../../../contract/resources/password-length.ts'
import { maxMetadataBytes } from '../../domain/users.ts'

/**
 * A constraint that docs/interface.md, "Resources and their fields", leaves open: whether this service
 * requires a field, and which values it accepts. docs/reference/service.md lists the same. The types are
 * checked before, with the contract.
 */
interface FieldConstraint {
  /** Dotted, as in a fault. Empty for the body itself. */
  path: string
  /**
   * All faults of the value; undefined is an absent field. The type of the value is correct, but values
   * inside it may have faults.
   */
  check(value: unknown): readonly Fault[]
}

/** Returns the message of a fault, or faults with paths relative to the value. */
type Test<T> = (value: T) => string | readonly Fault[] | undefined

/** Checks a field only if it is present. */
const optional = <T>(path: string, ...tests: Test<T>[]): FieldConstraint => ({
  path,
  check: (value) => (value === undefined ? [] : faultsAt(path, tests, value as T)),
})

const required = <T>(path: string, ...tests: Test<T>[]): FieldConstraint => ({
  path,
  check: (value) =>
    value === undefined ? [{ path, message: 'is required' }] : faultsAt(path, tests, value as T),
})

/** The result of the first test that fails: one fault is enough for one place. */
function faultsAt<T>(path: string, tests: Test<T>[], value: T): readonly Fault[] {
  for (const test of tests) {
    const found = test(value)
    if (typeof found === 'string') return [{ path, message: found }]
    if (found?.length) return found.map((fault) => ({ ...fault, path: `${path}.${fault.path}` }))
  }
  return []
}

const between =
  (min: number, max: number): Test<number> =>
  (value) =>
    value < min || value > max ? `must be between ${min} and ${max}` : undefined
const positive: Test<number> = (value) => (value < 1 ? 'must be at least 1' : undefined)
const integer: Test<number> = (value) => (Number.isInteger(value) ? undefined : 'must be an integer')
const notEmpty: Test<string | unknown[]> = (value) =>
  (typeof value === 'string' ? value.trim() : value).length === 0 ? 'must not be empty' : undefined
const hasLength =
  (min: number, max: number): Test<string> =>
  (value) => {
    // A character has at most two code units, so a long text does not have to be split.
    const length = value.length > 2 * max ? value.length : [...value].length
    return length < min || length > max ? `must have ${min} to ${max} characters` : undefined
  }
const oneOf =
  (names: readonly string[]): Test<string> =>
  (value) =>
    names.includes(value) ? undefined : `must be one of ${names.join(', ')}`
const each =
  (test: (item: string) => boolean, words: string): Test<string[]> =>
  (items) =>
    items.flatMap((item, index) =>
      typeof item !== 'string' || test(item) ? [] : [{ path: `${index}`, message: words }],
    )
const maxEntries =
  (max: number): Test<unknown[]> =>
  (items) =>
    items.length > max ? `must not have more than ${max} entries` : undefined
const maxMessageBytes = 1024 * 1024
const withinMessageLimit: Test<string> = (value) =>
  Buffer.byteLength(value) > maxMessageBytes ? 'must not exceed 1 MiB of UTF-8' : undefined
const modelLength = hasLength(1, 512)
const withinMetadataLimit: Test<object> = (value) =>
  jsonSize(value) > maxMetadataBytes ? 'must not exceed 64 KiB of JSON' : undefined

const language: Test<string> = (value) =>
  isLanguageTag(value) ? undefined : 'must be a language tag such as en or pt-BR'
const channels: Test<Record<string, unknown>> = (value) =>
  Object.entries(value).flatMap(([path, on]) => {
    if (path !== 'email' && path !== 'push') {
      return [{ path, message: 'is an unknown channel; use email or push' }]
    }
    return typeof on === 'boolean' ? [] : [{ path, message: 'must be a boolean' }]
  })

const permissionsOrRole: Test<object> = (value) =>
  'permissions' in value || 'role' in value ? undefined : 'must have permissions, a role, or both'

const modes = ['light', 'dark', 'system']
const roles = ['admin', 'editor', 'member']

export const fieldConstraints: { readonly [N in EndpointName]?: readonly FieldConstraint[] } = {
  createCompletion: [
    optional('model', notEmpty, modelLength),
    required('messages', notEmpty),
    optional('temperature', between(0, 2)),
    optional('max_tokens', positive),
  ],
  sendMessage: [required('message', withinMessageLimit, notEmpty), optional('model', notEmpty, modelLength)],
  listHistory: [optional('limit', integer, between(1, 100))],
  updateUserSettings: [
    optional('theme', oneOf(modes)),
    optional('language', language),
    optional('notifications', channels),
  ],
  updateSettings: [
    optional('app_name', notEmpty, hasLength(1, 200)),
    optional('theme.mode', oneOf(modes)),
    optional('limits.max_tokens', positive),
    optional('limits.max_requests_per_min', positive),
  ],
  setApiConfiguration: [
    optional('version', notEmpty, hasLength(1, 200)),
    optional('rate_limiting.requests_per_minute', positive),
    optional('cors.allowed_origins', each(isOrigin, 'must be * or an origin such as https://example.com')),
  ],
  createUser: [
    required('email', hasLength(3, 254)),
    required('password', hasLength(passwordLength.min, passwordLength.max)),
    optional('name', hasLength(0, 200)),
    optional('metadata', withinMetadataLimit),
  ],
  updateUser: [
    optional('name', hasLength(0, 200)),
    optional('metadata', withinMetadataLimit),
    optional('settings.theme', oneOf(modes)),
  ],
  assignPermissions: [
    optional('', permissionsOrRole),
    optional('permissions', maxEntries(1000)),
    optional('role', oneOf(roles)),
  ],
}

/** RFC 5646. */
function isLanguageTag(text: string): boolean {
  return orElse(() => Intl.getCanonicalLocales(text).length === 1, false)
}

/** Whether a text is `*` or the serialization of an origin (RFC 6454 section 6.2), as CORS compares it. */
function isOrigin(text: string): boolean {
  if (text === '*') return true
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text
}

const jsonSize = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
