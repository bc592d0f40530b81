import { isUtf8 } from 'node:buffer'
import { Failure } from '../../contract/failure.ts'
import { isRecord, tryParse } from '../../contract/notation/exact-json.ts'
import { type CommandOptions, runCommand } from '../../system/run-command.ts'
import { readCommand } from '../../system/split-command.ts'

/** Maximum duration of one run, in ms. A user may have to unlock a password manager. */
const maxDuration = 30_000

/** Set for the command, so that it cannot start itself. */
const marker = 'CHATCTL_CREDENTIAL_COMMAND'

/**
 * Obtains a credential from a command. Its output is never shown or kept.
 * @throws Failure `unauthorized` if the command fails or its output is not a credential, `usage` if it needs a shell;
 *   the reason of the signal
 */
export async function runCredentialCommand(
  line: string,
  profile: string,
  { env, ...options }: Omit<CommandOptions, 'maxDuration'>,
): Promise<TemporaryCredential> {
  const failed = (why: string) =>
    new Failure('unauthorized', `The credential command of profile "${profile}" ${why}`, {
      code: 'credential_command_failed',
      advice: [{ code: 'check_credential_command', line, profile }],
    })
  if (env[marker])
    throw failed('was started by a credential command, which would start itself again and again')
  const command = readCommand(line, 'credential command')
  const result = await runCommand(command, { ...options, env: { ...env, [marker]: profile }, maxDuration })
  if ('problem' in result) throw failed(result.problem)
  try {
    return readCommandOutput(result.output, options.clock.now())
  } catch (error) {
    throw failed((error as Error).message)
  }
}

/** The member of a JSON output that has the credential, and what it then is. */
const members = { api_key: 'api_key', access_token: 'oauth', token: null } as const

/** Maximum characters of a credential. Many servers refuse headers of more than 8 KiB. */
const maxLength = 8_192

/**
 * Reads the output of a credential command: one line, or a JSON object with `api_key`, `access_token`, or `token`, and
 * optionally `expires_at`, `expiration`, or `expires_in`.
 * @throws Error with a description of the fault, which never quotes the output
 */
export function readCommandOutput(output: Uint8Array, now: number): TemporaryCredential {
  if (!isUtf8(output)) throw new Error('wrote bytes that are not UTF-8')
  const text = new TextDecoder().decode(output).trim()
  if (text === '') throw new Error('wrote nothing')
  const found = text.startsWith('{') ? readObject(text, now) : { secret: text, kind: null }
  if (/\n/.test(found.secret)) throw new Error('wrote more than one line')
  if (/[^\x21-\x7e\xa1-\xff]/.test(found.secret))
    throw new Error('wrote a space, or characters that no HTTP header can contain')
  if (found.secret.length > maxLength)
    throw new Error(`wrote ${found.secret.length} characters, and a credential has at most ${maxLength}`)
  return { ...found, obtained_at: new Date(now).toISOString() }
}

function readObject(text: string, now: number): Omit<TemporaryCredential, 'obtained_at'> {
  const value = tryParse(text)
  if (!isRecord(value)) throw new Error('wrote an invalid JSON object')
  const names = Object.keys(members).filter((name) => value[name] !== undefined) as (keyof typeof members)[]
  const [name] = names
  if (name === undefined || names.length > 1) {
    throw new Error('wrote a JSON object without exactly one of api_key, access_token, and token')
  }
  const secret = value[name]
  if (typeof secret !== 'string' || secret.trim() === '') {
    throw new Error(`wrote a JSON object in which ${name} is not a text`)
  }
  const expiry = readExpiry(value, now)
  // A time in the past may be due to a clock that is wrong. The service decides.
  const isAhead = expiry !== undefined && expiry > now
  return {
    secret: secret.trim(),
    kind: members[name],
    ...(isAhead && { expires_at: new Date(expiry).toISOString() }),
  }
}

/** Later times are limited to this one. */
const lastTime = Date.UTC(9999, 0)

/** @returns ms since the epoch; undefined if the output names no time */
function readExpiry(value: Record<string, unknown>, now: number): number | undefined {
  for (const name of ['expires_at', 'expiration', 'expires_in']) {
    const said = value[name]
    if (said === undefined || said === null) continue
    const time = name === 'expires_in' ? now + 1_000 * secondsOf(said) : timeOf(said)
    if (Number.isNaN(time)) throw new Error(`wrote a JSON object in which ${name} is not a time`)
    return Math.min(time, lastTime)
  }
  return undefined
}

/** Seconds as a number, or as its digits. */
function secondsOf(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN
}

/** A larger number of an absolute time counts milliseconds: as seconds, it is after the year 5138. */
const firstMilliseconds = 1e11

/** RFC 3339, or seconds or milliseconds since the epoch. */
function timeOf(value: unknown): number {
  const isTime =
    typeof value === 'string' && /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/i.test(value)
  if (isTime) return Date.parse(value.replace(' ', 'T'))
  const number = secondsOf(value)
  return number > firstMilliseconds ? number : 1_000 * number
}

/** A credential that one run obtains when it needs it, and keeps only in memory. */
export interface TemporaryCredential {
  /** API key or access token. */
  secret: string
  /** Null if that is not known. */
  kind: 'api_key' | 'oauth' | null
  /** Times in ISO 8601, UTC. */
  obtained_at?: string | undefined
  expires_at?: string | undefined
  scope?: string | undefined
}
