import type { EndpointName } from '../../contract/endpoints.ts'
import { isJsonOfSize, isLanguageTag, isOrigin } from './forms.ts'

/**
 * Where interface.md is silent: which fields this service requires and what it accepts in them.
 * docs/service.md lists the same. Types are the contract's, checked before.
 */
interface Bound {
  /** Dotted, as in a fault; empty for the body itself. */
  path: string
  /** What is wrong with the value, if anything is; undefined stands for an absent field. */
  check(value: unknown): string | undefined
}

type Test<T> = (value: T) => string | undefined

/** Only a field that is given is looked at. */
const optional = <T>(path: string, ...tests: Test<T>[]): Bound => ({
  path,
  check: (value) => (value === undefined ? undefined : firstWords(tests, value as T)),
})

const required = <T>(path: string, ...tests: Test<T>[]): Bound => ({
  path,
  check: (value) => (value === undefined ? 'is required' : firstWords(tests, value as T)),
})

function firstWords<T>(tests: Test<T>[], value: T): string | undefined {
  for (const test of tests) {
    const words = test(value)
    if (words) return words
  }
  return undefined
}

/** A text column ends at U+0000 on Node 22 and cannot hold it in PostgreSQL; UTF-8 has no lone surrogates. */
const storable: Test<string> = (value) =>
  value.isWellFormed() && !value.includes('\0') ? undefined : 'must be Unicode text without U+0000'
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
  (value) =>
    value.length < least || value.length > most ? `must have ${least} to ${most} characters` : undefined
const oneOf =
  (names: readonly string[]): Test<string> =>
  (value) =>
    names.includes(value) ? undefined : `must be one of ${names.join(', ')}`
const each =
  (test: (item: string) => boolean, words: string): Test<string[]> =>
  (items) => {
    const odd = items.find((item) => !test(item))
    return odd === undefined ? undefined : `holds ${JSON.stringify(odd.slice(0, 100))}: ${words}`
  }
const atMost =
  (most: number): Test<unknown[]> =>
  (items) =>
    items.length > most ? `must not have more than ${most} entries` : undefined
const small: Test<object> = (value) =>
  isJsonOfSize(value, 65_536) ? undefined : 'must not exceed 64 KiB of JSON'

const language: Test<string> = (value) =>
  isLanguageTag(value) ? undefined : 'must be a language tag such as en or pt-BR'
const channels: Test<Record<string, unknown>> = (value) => {
  for (const [channel, on] of Object.entries(value)) {
    if (channel !== 'email' && channel !== 'push')
      return `has no channel ${channel.slice(0, 100)}; there are email and push`
    if (typeof on !== 'boolean') return `must have true or false for ${channel}`
  }
  return undefined
}

const assigns: Test<object> = (value) =>
  'permissions' in value || 'role' in value ? undefined : 'must have permissions, a role or both'

const modes = ['light', 'dark', 'system']
const roles = ['admin', 'editor', 'member']

export const bounds: { readonly [N in EndpointName]?: readonly Bound[] } = {
  createCompletion: [
    optional('model', filled),
    required('messages', filled),
    optional('temperature', between(0, 2)),
    optional('max_tokens', atLeast(1)),
  ],
  sendMessage: [required('message', filled, storable), optional('model', filled)],
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
    required('email', ofLength(3, 254), storable),
    required('password', ofLength(8, 1024)),
    optional('name', ofLength(0, 200), storable),
    optional('metadata', small),
  ],
  updateUser: [
    optional('name', ofLength(0, 200), storable),
    optional('metadata', small),
    optional('settings.theme', oneOf(modes)),
  ],
  assignPermissions: [
    optional('', assigns),
    optional('permissions', atMost(1000)),
    optional('role', oneOf(roles)),
  ],
}
