import { isAbsolute } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { noModelServer, readModelServer } from '../contract/model-server-address.ts'
import { nearest } from '../contract/nearest-word.ts'
import { orElse } from '../contract/or-else.ts'
import { readCommand } from '../system/split-command.ts'
import {
  adviceForProfile,
  type Configuration,
  findInAnyCase,
  type GlobalKey,
  globalKeys,
  isProfileName,
  listProfiles,
  type Profile,
  type ProfileKey,
  profileId,
  profileKeys,
  signInKeys,
  withProfile,
} from './configuration-file.ts'
import { aliasOf, withAlias } from './model-aliases.ts'
import { optionReaders, unreadable } from './option-values.ts'
import { defaultFormats, readOutputFormat } from './output-formats.ts'
import { directoryOf } from './profile-directories.ts'
import { forOrigin, localProfile, profileNames } from './resolve-options.ts'

export const configurationKeys: readonly string[] = [...globalKeys, ...profileKeys]

export const isGlobalKey = (key: string): key is GlobalKey => globalKeys.some((known) => known === key)

/** Validates a value before it is stored. The text is stored unchanged. */
const readers: Partial<Record<ProfileKey | GlobalKey, (text: string) => unknown>> = {
  ...optionReaders,
  model_server: (text) => text === noModelServer || readModelServer(text),
  model_server_key_file: demandAbsolutePath,
  approvers: demandAbsolutePath,
  credential_command: (line) => readCommand(line, 'command'),
  output: (text) => readOutputFormat(text, defaultFormats),
}

/**
 * The configuration with one value set. Creates the profile if it does not exist.
 * @param profile null for a key that belongs to no profile
 * @throws Failure `usage` for a value that is not valid for the key
 */
export function withValue(
  configuration: Configuration,
  profile: string | null,
  key: string,
  value: string,
): Configuration {
  if (isGlobalKey(key)) {
    judge(key, value)
    if (key === 'default_profile') demandProfile(configuration, value)
    if (key === 'model_server_key_file') demandModelServer(configuration)
    if (key === 'model_server') return withModelServer(configuration, value)
    return { ...configuration, [key]: value }
  }
  const known = key as ProfileKey
  judge(known, value)
  const directory = directoryOf(key)
  if (directory !== undefined) {
    demandProfile(configuration, value)
    return { ...configuration, directories: { ...configuration.directories, [directory]: value } }
  }
  profile ??= localProfile
  const held = configuration.profiles?.[profile]
  if (profile === localProfile && (known === 'base_url' || signInKeys.some((own) => own === known))) {
    throw new Failure('usage', `Profile "${localProfile}" is the embedded service and has no ${known}`)
  }
  demandProfileName(profile, configuration)
  const alias = aliasOf(key)
  const change =
    alias === undefined ? { [known]: value } : { aliases: withAlias(held?.aliases ?? {}, alias, value) }
  const stored: Profile = { ...(known === 'base_url' ? forOrigin(value, held ?? {}) : held), ...change }
  if (known === 'credential_command' && stored.base_url === undefined) throw withoutAddress(profile)
  return withProfile(configuration, profile, stored)
}

/** The configuration without the value of a key in a profile. */
export function withoutValue(
  configuration: Configuration,
  profile: string | null,
  key: string,
): Configuration {
  if (key === 'model_server') return withModelServer(configuration, undefined)
  if (isGlobalKey(key)) {
    const { [key]: _, ...rest } = configuration
    return rest
  }
  const directory = directoryOf(key)
  if (directory !== undefined) {
    const { [directory]: _, ...directories } = configuration.directories ?? {}
    return { ...configuration, directories }
  }
  profile ??= localProfile
  const held = configuration.profiles?.[profile]
  if (held === undefined) return configuration
  const alias = aliasOf(key)
  if (alias !== undefined) {
    const { [alias]: model, ...aliases } = held.aliases ?? {}
    if (model !== undefined && held.model === alias) {
      throw new Failure('usage', `${key} is the model of profile "${profile}"`, {
        advice: [{ code: 'unset_model', profile }],
      })
    }
    return withProfile(configuration, profile, { ...held, aliases })
  }
  const { [key as ProfileKey]: _, ...stored } = key === 'base_url' ? forOrigin(undefined, held) : held
  return withProfile(configuration, profile, stored)
}

function withoutAddress(profile: string): Failure {
  return new Failure(
    'usage',
    `credential_command is for the base URL of the profile, but profile "${profile}" has none`,
    { advice: [{ code: 'set_base_url', profile }] },
  )
}

function demandProfile(configuration: Configuration, name: string): void {
  const known = profileNames(configuration)
  if (known.includes(name)) return
  throw new Failure('usage', `Unknown profile "${name}"`, adviceForProfile(name, known))
}

/** The key of a model server must not reach another one, so only the same origin keeps it. */
function withModelServer(configuration: Configuration, value: string | undefined): Configuration {
  const { model_server: known, model_server_key_file: keyFile, ...rest } = configuration
  const keepsKey =
    keyFile !== undefined &&
    originOfModelServer(value) !== undefined &&
    originOfModelServer(value) === originOfModelServer(known)
  return {
    ...rest,
    ...(value !== undefined && { model_server: value }),
    ...(keepsKey && { model_server_key_file: keyFile }),
  }
}

/** Undefined for `none`, and for a value that was edited into the file and is invalid. */
function originOfModelServer(nameOrUrl: string | undefined): string | undefined {
  return nameOrUrl === undefined ? undefined : orElse(() => readModelServer(nameOrUrl).origin, undefined)
}

/** Without a model server, the key would go to the next one that is chosen. */
function demandModelServer({ model_server: known }: Configuration): void {
  if (originOfModelServer(known) !== undefined) return
  throw new Failure(
    'usage',
    'model_server_key_file is the key of the stored model server, but none is stored',
    { hint: 'Set it first with: chatctl config set model_server=URL' },
  )
}

/** A relative path would mean another file in each working directory. */
function demandAbsolutePath(path: string): void {
  if (!isAbsolute(path)) throw new Error('is not an absolute path')
}

/**
 * Checks the name of a profile that exists or is created. The keychain of Windows ignores case, so two profiles
 * whose names differ only in case would have one credential.
 * @throws Failure `usage`
 */
export function demandProfileName(name: string, configuration: Configuration): void {
  if (!isProfileName(name)) {
    throw new Failure('usage', `"${name}" is not a valid profile name`, {
      hint: 'Use at most 64 characters: letters, digits, and . _ - @. The first must not be a hyphen.',
    })
  }
  const known = profileNames(configuration)
  const similar = findInAnyCase(name, known)
  if (similar === undefined || known.includes(name)) return
  throw new Failure('usage', `Profile "${similar}" already exists, and "${name}" differs only in case`, {
    hint: 'Choose another name.',
  })
}

function judge(key: ProfileKey | GlobalKey, value: string): void {
  try {
    if (value.trim() === '') throw new Error('must not be empty')
    readers[key]?.(value)
  } catch (error) {
    throw unreadable(key, value, error)
  }
}

/**
 * The configuration with another name for a profile, which is also changed where other keys name it. The profile
 * keeps its ID.
 * @throws Failure `usage`
 */
export function withRenamedProfile(configuration: Configuration, from: string, to: string): Configuration {
  demandOwnProfile(configuration, from)
  if (profileNames(configuration).includes(to)) {
    throw new Failure('usage', `Profile "${to}" already exists`, { hint: 'Choose another name.' })
  }
  const { profiles = {}, directories = {}, default_profile: standard } = configuration
  const { [from]: { id: _, ...renamed } = {}, ...others } = profiles
  demandProfileName(to, { profiles: others })
  const id = profileId(configuration, from)
  const named = (name: string) => (name === from ? to : name)
  const rename = ([name, profile]: [string, Profile]) =>
    name === from ? [to, id === to ? renamed : { ...renamed, id }] : [name, profile]
  return {
    ...configuration,
    ...(standard !== undefined && { default_profile: named(standard) }),
    ...(configuration.directories && {
      directories: Object.fromEntries(
        Object.entries(directories).map(([directory, name]) => [directory, named(name)]),
      ),
    }),
    // In its former place, because lists are in this order.
    profiles: Object.fromEntries(Object.entries(profiles).map(rename)),
  }
}

/** The configuration without a profile, and without the keys that name it. Its ID is never used again. @throws Failure `usage` */
export function withoutProfile(configuration: Configuration, name: string): Configuration {
  demandOwnProfile(configuration, name)
  const {
    profiles = {},
    directories,
    default_profile: standard,
    removed_ids: removed = [],
    ...rest
  } = configuration
  const { [name]: _, ...others } = profiles
  return {
    ...rest,
    ...(standard !== undefined && standard !== name && { default_profile: standard }),
    ...(directories && {
      directories: Object.fromEntries(Object.entries(directories).filter(([, profile]) => profile !== name)),
    }),
    profiles: others,
    removed_ids: [...removed, profileId(configuration, name)],
  }
}

/** @throws Failure `usage` for the embedded service, and for a profile that does not exist */
function demandOwnProfile({ profiles = {} }: Configuration, name: string): void {
  if (name === localProfile) {
    throw new Failure('usage', `Profile "${localProfile}" is the embedded service and always exists`)
  }
  if (Object.hasOwn(profiles, name)) return
  const meant = nearest(name, Object.keys(profiles))
  throw new Failure('usage', `Unknown profile "${name}"`, {
    hint: `${meant === undefined ? '' : `Did you mean ${meant}? `}${listProfiles}`,
  })
}
