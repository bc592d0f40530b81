import { readBaseUrl, readEndpoint } from '../contract/base-url.ts'
import { afterColon, Failure, type FailureOptions } from '../contract/failure.ts'
import type { ProfileKey } from './configuration-file.ts'
import { parseDuration } from './units.ts'

/** @param where the source of the value: a flag, a variable, or a key of the configuration file */
export function unreadable(
  where: string,
  value: string,
  error: unknown,
  options: FailureOptions = {},
): Failure {
  // An invalid URL is not repeated, because it may contain a password.
  if (error instanceof Failure) {
    const { kind, message, hint, advice } = error
    return new Failure(kind, `${where}: ${afterColon(message)}`, { hint, advice, ...options })
  }
  return new Failure('usage', `${where}: "${value}" ${(error as Error).message}`, options)
}

/** How a value of an option is read from a flag, a variable, or a profile. Other options are texts. */
export const optionReaders = {
  base_url: readAddress,
  auth_url: readAddress,
  token_url: readTokenUrl,
  redirect_host: readRedirectHost,
  redirect_port: readPorts,
  redirect_path: readRedirectPath,
  timeout: readTimeout,
  retries: readCount,
  max_wait: readDuration,
  read_only: readSwitch,
  save: readSwitch,
  notify: readSwitch,
} satisfies Partial<Record<ProfileKey, (text: string) => unknown>>

export function readAddress(text: string): string {
  readBaseUrl(text.trim(), 'address')
  return text.trim()
}

function readTokenUrl(text: string): string {
  return readEndpoint(text, 'token URL')
}

function readDuration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new Error('is not a duration such as 500ms, 10s, 5m, or 1h')
  return ms
}

export function readTimeout(text: string): number {
  const ms = readDuration(text)
  if (ms < 1) throw new Error('must be longer than 0')
  return ms
}

function readCount(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new Error('is not a whole number from 0 to 999')
  return Number(text)
}

function readSwitch(text: string): 'on' | 'off' {
  if (text === 'on' || text === 'off') return text
  throw new Error('is neither on nor off')
}

/** The hosts to which the browser may be redirected after sign-in. */
export type RedirectHost = '127.0.0.1' | '::1'

function readRedirectHost(text: string): RedirectHost {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (host === '127.0.0.1' || host === '::1') return host
  // RFC 8252 section 8.3: a host name may resolve to another machine.
  throw new Error('is not a loopback address: use 127.0.0.1 or ::1')
}

/** @returns the ports, in the order in which they are tried */
function readPorts(text: string): readonly number[] {
  const ports = text.split(',').map((port) => (/^\s*\d{1,5}\s*$/.test(port) ? Number(port) : Number.NaN))
  if (ports.every((port) => port <= 65_535)) return ports
  throw new Error('is not a port from 0 to 65535, or a comma-separated list of ports')
}

function readRedirectPath(text: string): string {
  // Authorization servers compare the path as a string, so URL normalization must not change it.
  if (/^\/[\w.~/-]*$/.test(text) && new URL(text, 'http://localhost').pathname === text) return text
  throw new Error('is not a path such as /callback')
}

/** Reads a variable that turns a guard on. @throws Failure `usage` for an empty one, as without the secret of a CI job */
export function readGuardVariable(name: string, env: NodeJS.ProcessEnv): string | undefined {
  if (env[name] !== '') return env[name]
  throw new Failure('usage', `${name} is empty`, { hint: `Without it, run: unset ${name}` })
}

const yes = ['1', 'true', 'on', 'yes', 'y']
const no = ['0', 'false', 'off', 'no', 'n']

/**
 * Reads the environment variable of a flag that takes no value. An empty variable counts as not set.
 * @throws Failure `usage` for another word, because a misspelled CHATCTL_DRY_RUN must not send a change
 */
export function readBooleanVariable(name: string, env: NodeJS.ProcessEnv): boolean {
  const text = env[name] ?? ''
  const word = text.toLowerCase()
  if (yes.includes(word)) return true
  if (word === '' || no.includes(word)) return false
  throw new Failure('usage', `${name}: "${text}" is not 1, 0, true, false, on, off, yes, or no`)
}
