import type { EndpointName } from '../../../contract/endpoints.ts'
import type { Fault } from '../../../contract/faults.ts'
import { passwordLength } from '../../domain/access/passwords.ts'
import { mostMetadata } from '../../domain/users.ts'

/**
 * Where docs/interface.md, "Resources and their fields", is silent: which fields this service requires
 * and what it accepts in them.
 * docs/reference/service.md lists the same. Types are the contract's, checked before.
 */
interface Bound {
  /** Dotted, as in a fault; empty for the body itself. */
  path: string
  /**
   * All that is wrong with the value; undefined stands for an absent field. The contract may have
   * found faults inside of the value, though not in the value itself.
   */
  check(value: unknown): readonly Fault[]
}

/** What is wrong in words, or as faults whose paths go on from the value. */
type Test<T> = (value: T) => string | readonly Fault[] | undefined

/** Only a field that is given is looked at. */
const optional = <T>(path: string, ...tests: Test<T>[]): Bound => ({
  path,
  check: (value) => (value === undefined ? [] : faultsAt(path, tests, value as T)),
})

const required = <T>(path: string, ...tests: Test<T>[]): Bound => ({
  path,
  check: (value) =>
    value === undefined ? [{ path, message: 'is required' }] : faultsAt(path, tests, value as T),
})

/** What the first test says that is not content: one fault is enough for one place. */
function faultsAt<T>(path: string, tests: Test<T>[], value: T): readonly Fault[] {
  for (const test of tests) {
    const found = test(value)
    if (typeof found === 'string') return [{ path, message: found }]
    if (found?.length) return found.map((fault) => ({ ...fault, path: `${path}.${fault.path}` }))
  }
  return []
}

const between =
  (least: number, most: number): Test<number> =>
  (value) =>
    value < least || value > most ? `must be between ${least} and ${most}` : undefined
const atLeast =
  (least: number): Test<number> =>
  (value) =>
    value < least ? `must be at least ${least}` : undefined
const whole: Test<number> = (value) => (Number.isInteger(value) ? undefined : 'must be an integer')
const filled: Test<string | unknown[]> = (value) =>
  (typeof value === 'string' ? value.trim() : value).length === 0 ? 'must not be empty' : undefined
const ofLength =
  (least: number, most: number): Test<string> =>
  (value) => {
    // One character takes two units at most, so that a long text need not be taken apart.
    const length = value.length > 2 * most ? value.length : [...value].length
    return length < least || length > most ? `must have ${least} to ${most} characters` : undefined
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
const atMost =
  (most: number): Test<unknown[]> =>
  (items) =>
    items.length > most ? `must not have more than ${most} entries` : undefined
const longestMessage = 1024 * 1024
const ofMessage: Test<string> = (value) =>
  Buffer.byteLength(value) > longestMessage ? 'must not exceed 1 MiB of UTF-8' : undefined
const ofModel = ofLength(1, 512)
const small: Test<object> = (value) =>
  jsonSize(value) > mostMetadata ? 'must not exceed 64 KiB of JSON' : undefined

const language: Test<string> = (value) =>
  isLanguageTag(value) ? undefined : 'must be a language tag such as en or pt-BR'
const channels: Test<Record<string, unknown>> = (value) =>
  Object.entries(value).flatMap(([path, on]) => {
    if (path !== 'email' && path !== 'push') {
      return [{ path, message: 'is an unknown channel; use email or push' }]
    }
    return typeof on === 'boolean' ? [] : [{ path, message: 'must be a boolean' }]
  })

const assigns: Test<object> = (value) =>
  'permissions' in value || 'role' in value ? undefined : 'must have permissions, a role, or both'

const modes = ['light', 'dark', 'system']
const roles = ['admin', 'editor', 'member']

export const bounds: { readonly [N in EndpointName]?: readonly Bound[] } = {
  createCompletion: [
    optional('model', filled, ofModel),
    required('messages', filled),
    optional('temperature', between(0, 2)),
    optional('max_tokens', atLeast(1)),
  ],
  sendMessage: [required('message', ofMessage, filled), optional('model', filled, ofModel)],
  listHistory: [optional('limit', whole, between(1, 100))],
  updateUserSettings: [
    optional('theme', oneOf(modes)),
    optional('language', language),
    optional('notifications', channels),
  ],
  updateSettings: [
    optional('app_name', filled, ofLength(1, 200)),
    optional('theme.mode', oneOf(modes)),
    optional('limits.max_tokens', atLeast(1)),
    optional('limits.max_requests_per_min', atLeast(1)),
  ],
  setApiConfiguration: [
    optional('version', filled, ofLength(1, 200)),
    optional('rate_limiting.requests_per_minute', atLeast(1)),
    optional('cors.allowed_origins', each(isOrigin, 'must be * or an origin such as https://example.com')),
  ],
  createUser: [
    required('email', ofLength(3, 254)),
    required('password', ofLength(passwordLength.least, passwordLength.most)),
    optional('name', ofLength(0, 200)),
    optional('metadata', small),
  ],
  updateUser: [
    optional('name', ofLength(0, 200)),
    optional('metadata', small),
    optional('settings.theme', oneOf(modes)),
  ],
  assignPermissions: [
    optional('', assigns),
    optional('permissions', atMost(1000)),
    optional('role', oneOf(roles)),
  ],
}

/** Whether a text is a well-formed language tag (RFC 5646). */
function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/** Whether a text is `*` or the serialization of an origin (RFC 6454 section 6.2), as CORS compares it. */
function isOrigin(text: string): boolean {
  if (text === '*') return true
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text
}

/** The bytes of a value's JSON. */
const jsonSize = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
