import { originOf } from '../contract/base-url.ts'
import { Failure } from '../contract/failure.ts'
import { requestDefaults } from '../contract/request-defaults.ts'
import { Directories } from '../system/files/directories.ts'
import {
  adviceForProfile,
  type Configuration,
  configurationPath,
  type Profile,
  type ProfileKey,
  profileId,
} from './configuration-file.ts'
import { type ModelAliases, resolveAlias } from './model-aliases.ts'
import {
  optionReaders,
  type RedirectHost,
  readBooleanVariable,
  readGuardVariable,
  unreadable,
} from './option-values.ts'
import {
  type DocumentFormat,
  formatsFrom,
  type OutputFormat,
  offeredFormat,
  outputFormats,
  readOutputFormat,
} from './output-formats.ts'
import { profileHere } from './profile-directories.ts'

export type Source = 'flag' | 'environment' | 'directory' | 'profile' | 'default'

/** Whether this run was given a value, which then precedes what a conversation or a prompt has. */
export const isGiven = ({ source }: { source: Source }): boolean => ['flag', 'environment'].includes(source)

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
  /** The file of those who approve plans. No variable replaces that of a profile. */
  approvers: Resolved<string | undefined>
  /** Whether chatctl refuses every change: if the variable or the profile says so. */
  read_only: Resolved<'on' | 'off'>
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
 * @param configuration called only if a profile may be used, so that a run with a base URL does not depend
 *   on the configuration file
 * @throws Failure `usage` for an unknown profile or an invalid value, with its source
 */
export function resolveOptions(
  flags: FlagValues,
  env: NodeJS.ProcessEnv,
  configuration: () => Configuration,
  usage: Usage,
): Options {
  const { formats = outputFormats } = usage
  const given = (name: OptionName) => readGiven(name, flags, env)
  const address = given('base_url')
  const { profile, inForce, stored } = chooseProfile(given, env, configuration, usage)
  const { credential_command: command } = forOrigin(address?.value ?? stored.base_url, stored)
  const ofProfile = <T>(value: T): Resolved<T> => ({ value, source: 'profile', from: `profile ${inForce}` })
  const pick = (name: ProfileKey): Resolved<string> | undefined => {
    // Ignores a base URL that a user added to the profile `local` in the file.
    const value = name === 'base_url' && inForce === localProfile ? undefined : stored[name]
    return given(name) ?? (value === undefined ? undefined : ofProfile(value))
  }
  const text = (name: ProfileKey): Resolved<string | undefined> => pick(name) ?? byDefault(undefined)
  const read = <T>(value: Resolved<string>, name: OptionName, reader: (text: string) => T): Resolved<T> => {
    try {
      return { ...value, value: reader(value.value) }
    } catch (error) {
      if (value.source !== 'profile') throw unreadable(value.from, value.value, error)
      const hint = `Correct it in ${configurationPath(new Directories(env))}`
      throw unreadable(`${value.from}, ${name}`, value.value, error, { hint })
    }
  }
  const option = <N extends keyof typeof optionReaders, D>(name: N, standard: D) => {
    const value = pick(name)
    const reader: (text: string) => ReturnType<(typeof optionReaders)[N]> = optionReaders[name] as never
    return value === undefined ? byDefault(standard) : read(value, name, reader)
  }
  const output = offeredFormat(pick('output'), formats)
  return {
    profile: profile ?? byDefault(undefined),
    base_url: option('base_url', undefined),
    auth_url: option('auth_url', undefined),
    client_id: text('client_id'),
    token_url: option('token_url', undefined),
    scope: text('scope'),
    redirect_host: option('redirect_host', '127.0.0.1' as const),
    redirect_port: option('redirect_port', [0]),
    redirect_path: option('redirect_path', '/callback'),
    credential_command: command === undefined ? byDefault(undefined) : ofProfile(command),
    approvers: stored.approvers === undefined ? text('approvers') : ofProfile(stored.approvers),
    read_only: readBooleanVariable('CHATCTL_READ_ONLY', env)
      ? { value: 'on', source: 'environment', from: 'CHATCTL_READ_ONLY' }
      : stored.read_only === undefined
        ? byDefault('off')
        : read(ofProfile(stored.read_only), 'read_only', optionReaders.read_only),
    model: withoutAlias(text('model'), stored.aliases ?? {}),
    aliases: ofProfile(stored.aliases ?? {}),
    output: output
      ? read(output, 'output', (name) => readOutputFormat(name, formatsFrom(output.source, formats)))
      : byDefault(undefined),
    timeout: option('timeout', requestDefaults.timeout),
    retries: option('retries', requestDefaults.retries),
    max_wait: option('max_wait', requestDefaults.maxWait),
    save: option('save', 'on' as const),
    notify: option('notify', 'on' as const),
  }
}

/** The value of a flag or a variable. */
function readGiven(
  name: OptionName,
  flags: FlagValues,
  env: NodeJS.ProcessEnv,
): Resolved<string> | undefined {
  const flag = flags[name]
  if (flag !== undefined) return { value: flag, source: 'flag', from: `--${name.replaceAll('_', '-')}` }
  const variable = `CHATCTL_${name.toUpperCase()}`
  const value = name === 'approvers' ? readGuardVariable(variable, env) : env[variable]
  if (value) return { value, source: 'environment', from: variable }
  if (name !== 'output' || !readBooleanVariable('CHATCTL_JSON', env)) return undefined
  return { value: 'json', source: 'environment', from: 'CHATCTL_JSON' }
}

interface ChosenProfile {
  /** Undefined if nothing selects one. */
  profile: Resolved<string> | undefined
  /** Its name; `local` if nothing selects a service. Undefined if a base URL selects the service. */
  inForce: string | undefined
  /** Its values that apply to this run. */
  stored: Profile
}

function chooseProfile(
  given: (name: OptionName) => Resolved<string> | undefined,
  env: NodeJS.ProcessEnv,
  configuration: () => Configuration,
  { mayNameNewProfile, takesProfileOfAddress, workingDirectory }: Usage,
): ChosenProfile {
  const address = given('base_url')
  const name = address && takesProfileOfAddress ? profileOfService(configuration(), address.value) : undefined
  const profile =
    given('profile') ??
    (address && name !== undefined ? { ...address, value: name } : undefined) ??
    (address ? undefined : profileHere(configuration(), workingDirectory, env))
  // By default, commands use the embedded service, with the defaults that `config set` stores without a
  // profile.
  const inForce = profile?.value ?? (address ? undefined : localProfile)
  const found = inForce === undefined ? {} : findProfile(inForce, configuration())
  if (!found && !mayNameNewProfile) throw unknownProfile(profile, configuration(), env)
  return { profile, inForce, stored: forAuthorizationServer(given('auth_url')?.value, found ?? {}) }
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

/** The profile of a base URL, or of `local`; of several, the default profile or else the first. */
export function profileOfService(
  { profiles = {}, default_profile: standard }: Configuration,
  service: string,
): string | undefined {
  if (service === localProfile) return localProfile
  const href = (url: string | undefined) => (url && URL.canParse(url) ? new URL(url).href : undefined)
  const names = Object.keys(profiles).filter(
    (name) =>
      name !== localProfile && profiles[name]?.base_url && href(profiles[name].base_url) === href(service),
  )
  return names.find((name) => name === standard) ?? names[0]
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
  env: NodeJS.ProcessEnv,
): Failure {
  const { value = '', from = '', source } = named ?? {}
  const stored = source === 'directory' ? `${configurationPath(new Directories(env))}, ${from}` : from
  const where = source === 'profile' ? `default_profile in ${from}` : stored
  const known = profileNames(configuration)
  return new Failure(
    'usage',
    `${where}: unknown profile "${value}" (profiles: ${known.join(', ')})`,
    adviceForProfile(value, known),
  )
}

/** All profile names, the built-in profile first. */
export function profileNames(configuration: Configuration): string[] {
  return [...new Set([localProfile, ...Object.keys(configuration.profiles ?? {})])]
}

/** The name of the profile with an ID. Undefined if the profile was removed: another may have its name now. */
export function profileNameOf(configuration: Configuration, id: string): string | undefined {
  return profileNames(configuration).find((name) => profileId(configuration, name) === id)
}
