import { originOf, readBaseUrl, readEndpoint } from '../contract/base-url.ts'
import { afterColon, Failure, type FailureOptions } from '../contract/failure.ts'
import { Directories } from '../system/files/directories.ts'
import { readBooleanVariable } from './boolean-variable.ts'
import {
  adviceForProfile,
  type Configuration,
  configurationPath,
  type Profile,
  type ProfileKey,
} from './configuration-file.ts'
import { type ModelAliases, resolveAlias } from './model-aliases.ts'
import {
  type DocumentFormat,
  formatsFrom,
  type OutputFormat,
  offeredFormat,
  outputFormats,
  readOutputFormat,
} from './output-formats.ts'
import { profileHere } from './profile-directories.ts'
import { type RedirectHost, readPorts, readRedirectHost, readRedirectPath } from './redirect-options.ts'
import { parseDuration } from './units.ts'

export type Source = 'flag' | 'environment' | 'directory' | 'profile' | 'default'

interface Resolved<T> {
  value: T
  source: Source
  /** Name of the flag, variable, directory, or profile. */
  from: string
}

/** The built-in profile of the embedded service. */
export const localProfile = 'local'

/** Flag values by option name. Environment variables are read here. */
export type FlagValues = Partial<Record<OptionName, string>>

type OptionName = 'profile' | ProfileKey

export interface Options {
  profile: Resolved<string | undefined>
  base_url: Resolved<string | undefined>
  auth_url: Resolved<string | undefined>
  client_id: Resolved<string | undefined>
  token_url: Resolved<string | undefined>
  scope: Resolved<string | undefined>
  redirect_host: Resolved<RedirectHost>
  /** Tried in order; 0 means any free port. */
  redirect_port: Resolved<readonly number[]>
  redirect_path: Resolved<string>
  /** Prints the credential of the profile. Only of a profile, and only for the origin of its base URL. */
  credential_command: Resolved<string | undefined>
  /** The model of an alias, not the alias. */
  model: Resolved<string | undefined>
  aliases: Resolved<ModelAliases>
  output: Resolved<OutputFormat | DocumentFormat | undefined>
  /** In ms. */
  timeout: Resolved<number>
  retries: Resolved<number>
  /** In ms. */
  max_wait: Resolved<number>
  /** Whether chats are recorded on this machine. */
  save: Resolved<'on' | 'off'>
  /** Whether a session notifies of a long reply that is complete. */
  notify: Resolved<'on' | 'off'>
}

/** How a command uses the options. */
interface Usage {
  mayNameNewProfile: boolean
  /** Whether a base URL without a profile selects the profile with that base URL. */
  takesProfileOfAddress: boolean
  /** A profile may apply to it and everything in it. */
  workingDirectory: string
  /** The output formats of the command (default: those of every command). */
  formats?: readonly (OutputFormat | DocumentFormat)[]
}

/**
 * Precedence: flag, environment, profile, default. The profile itself: flag, environment, working directory,
 * default profile. A profile is used only if it is named or if no base URL is given, so that the defaults of one
 * service do not apply to another.
 *
 * @param configuration called only if a profile may be used, so that a run with a base URL does not depend
 *   on the configuration file
 * @throws Failure `usage` for an unknown profile or an invalid value, with its source
 */
export function resolveOptions(
  flags: FlagValues,
  env: NodeJS.ProcessEnv,
  configuration: () => Configuration,
  { mayNameNewProfile, takesProfileOfAddress, workingDirectory, formats = outputFormats }: Usage,
): Options {
  const place = () => configurationPath(new Directories(env))
  const given = (name: OptionName): Resolved<string> | undefined => {
    const flag = flags[name]
    if (flag !== undefined) return { value: flag, source: 'flag', from: `--${name.replaceAll('_', '-')}` }
    const variable = `CHATCTL_${name.toUpperCase()}`
    const value = env[variable]
    if (value) return { value, source: 'environment', from: variable }
    if (name !== 'output' || !readBooleanVariable('CHATCTL_JSON', env)) return undefined
    return { value: 'json', source: 'environment', from: 'CHATCTL_JSON' }
  }

  const address = given('base_url')
  const profile =
    given('profile') ??
    (address && takesProfileOfAddress ? profileOfAddress(address, configuration()) : undefined) ??
    (address ? undefined : profileHere(configuration(), workingDirectory, env))
  // By default, commands use the embedded service, with the defaults that `config set` stores without a
  // profile.
  const inForce = profile?.value ?? (address ? undefined : localProfile)
  const found =
    (inForce === undefined ? {} : findProfile(inForce, configuration())) ??
    (mayNameNewProfile ? {} : undefined)
  if (!found) throw unknownProfile(profile, configuration(), place)
  const stored = forAuthorizationServer(given('auth_url')?.value, found)
  const { credential_command: command } = forOrigin(address?.value ?? found.base_url, found)
  const pick = (name: ProfileKey): Resolved<string> | undefined => {
    const value = stored[name]
    return (
      given(name) ??
      (value === undefined ? undefined : { value, source: 'profile', from: `profile ${inForce}` })
    )
  }
  const text = (name: ProfileKey): Resolved<string | undefined> => pick(name) ?? byDefault(undefined)
  const read = <T, D>(
    name: OptionName,
    value: Resolved<string> | undefined,
    reader: (text: string) => T,
    standard: D,
  ): Resolved<T | D> => {
    if (value === undefined) return byDefault(standard)
    try {
      return { ...value, value: reader(value.value) }
    } catch (error) {
      const isStored = value.source === 'profile'
      const where = isStored ? `${value.from}, ${name}` : value.from
      throw unreadable(where, value.value, error, isStored ? { hint: `Correct it in ${place()}` } : {})
    }
  }

  return {
    profile: profile ?? byDefault(undefined),
    // Ignores a base URL that a user added to the profile `local` in the file.
    base_url: read(
      'base_url',
      inForce === localProfile ? given('base_url') : pick('base_url'),
      readAddress,
      undefined,
    ),
    auth_url: read('auth_url', pick('auth_url'), readAddress, undefined),
    client_id: text('client_id'),
    token_url: read('token_url', pick('token_url'), readTokenUrl, undefined),
    scope: text('scope'),
    redirect_host: read('redirect_host', pick('redirect_host'), readRedirectHost, '127.0.0.1'),
    redirect_port: read('redirect_port', pick('redirect_port'), readPorts, [0]),
    redirect_path: read('redirect_path', pick('redirect_path'), readRedirectPath, '/callback'),
    credential_command:
      command === undefined
        ? byDefault(undefined)
        : { value: command, source: 'profile', from: `profile ${inForce}` },
    model: withoutAlias(text('model'), stored.aliases ?? {}),
    aliases: { value: stored.aliases ?? {}, source: 'profile', from: `profile ${inForce}` },
    output: read(
      'output',
      offeredFormat(pick('output'), formats),
      (text) => readOutputFormat(text, formatsFrom(pick('output')?.source, formats)),
      undefined,
    ),
    timeout: read('timeout', pick('timeout'), readTimeout, 60_000),
    retries: read('retries', pick('retries'), readCount, 2),
    max_wait: read('max_wait', pick('max_wait'), readDuration, 60_000),
    save: read('save', pick('save'), readSwitch, 'on' as const),
    notify: read('notify', pick('notify'), readSwitch, 'on'),
  }
}

function withoutAlias(
  model: Resolved<string | undefined>,
  aliases: ModelAliases,
): Resolved<string | undefined> {
  const value = model.value && resolveAlias(model.value, aliases)
  return value === model.value ? model : { ...model, value, from: `${model.from}, alias ${model.value}` }
}

/**
 * The profile without the client ID, token endpoint, and scope of another authorization server, which would
 * otherwise receive a code of this one.
 */
export function forAuthorizationServer(authUrl: string | undefined, profile: Profile): Profile {
  if (authUrl === undefined || authUrl === profile.auth_url) return profile
  const { client_id: _, token_url: __, scope: ___, ...rest } = profile
  return rest
}

/** The profile without the credential command of another origin, which must not receive its credential. */
export function forOrigin(baseUrl: string | undefined, profile: Profile): Profile {
  if (profile.credential_command === undefined) return profile
  const origin = originOf(baseUrl)
  if (origin !== undefined && origin === originOf(profile.base_url)) return profile
  const { credential_command: _, ...rest } = profile
  return rest
}

/** @returns the profile with this base URL; of several, the default profile or else the first */
function profileOfAddress(
  { value, from, source }: Resolved<string>,
  { profiles = {}, default_profile: standard }: Configuration,
): Resolved<string> | undefined {
  const href = (url: string | undefined) => (url && URL.canParse(url) ? new URL(url).href : undefined)
  const names = Object.keys(profiles).filter(
    (name) =>
      name !== localProfile && profiles[name]?.base_url && href(profiles[name].base_url) === href(value),
  )
  const same = names.find((name) => name === standard) ?? names[0]
  return same === undefined ? undefined : { value: same, source, from }
}

function byDefault<T>(value: T): Resolved<T> {
  return { value, source: 'default', from: 'default' }
}

function findProfile(name: string, { profiles = {} }: Configuration): Profile | undefined {
  if (Object.hasOwn(profiles, name)) return profiles[name]
  return name === localProfile ? {} : undefined
}

function unknownProfile(
  named: Resolved<string> | undefined,
  configuration: Configuration,
  place: () => string,
): Failure {
  const { value = '', from = '', source } = named ?? {}
  const stored = source === 'directory' ? `${place()}, ${from}` : from
  const where = source === 'profile' ? `default_profile in ${from}` : stored
  const known = profileNames(configuration)
  return new Failure('usage', `${where}: unknown profile "${value}" (profiles: ${known.join(', ')})`, {
    advice: [adviceForProfile(value, known)],
  })
}

/** All profile names, the built-in profile first. */
export function profileNames(configuration: Configuration): string[] {
  return [...new Set([localProfile, ...Object.keys(configuration.profiles ?? {})])]
}

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

/** The functions below read flags, variables, and stored values. */
export function readAddress(text: string): string {
  readBaseUrl(text.trim(), 'address')
  return text.trim()
}

export function readTokenUrl(text: string): string {
  return readEndpoint(text, 'token URL')
}

export function readDuration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new Error('is not a duration such as 500ms, 10s, 5m, or 1h')
  return ms
}

export function readTimeout(text: string): number {
  const ms = readDuration(text)
  if (ms < 1) throw new Error('must be longer than 0')
  return ms
}

export function readCount(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new Error('is not a whole number from 0 to 999')
  return Number(text)
}

export function readSwitch(text: string): 'on' | 'off' {
  if (text === 'on' || text === 'off') return text
  throw new Error('is neither on nor off')
}
