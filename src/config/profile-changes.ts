import { Failure } from '../contract/failure.ts'
import { nearest } from '../contract/nearest-word.ts'
import { type Configuration, type Profile, profileId } from './configuration-file.ts'
import { demandProfileName } from './configuration-keys.ts'
import { localProfile, profileNames } from './resolve-options.ts'

/**
 * The configuration with another name for a profile, which is also changed where other keys name it. The profile
 * keeps its ID.
 *
 * @throws Failure `usage`
 */
export function withRenamedProfile(configuration: Configuration, from: string, to: string): Configuration {
  demandOwnProfile(configuration, from)
  if (profileNames(configuration).includes(to)) {
    throw new Failure('usage', `Profile "${to}" already exists`, { hint: 'Choose another name.' })
  }
  demandProfileName(to, configuration)
  const { profiles = {}, directories = {}, default_profile: standard } = configuration
  const id = profileId(configuration, from)
  const { id: _, ...renamed } = profiles[from] ?? {}
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

/**
 * The configuration without a profile, and without the keys that name it.
 *
 * @throws Failure `usage`
 */
export function withoutProfile(configuration: Configuration, name: string): Configuration {
  demandOwnProfile(configuration, name)
  const { profiles = {}, directories, default_profile: standard, ...rest } = configuration
  const { [name]: _, ...others } = profiles
  return {
    ...rest,
    ...(standard !== undefined && standard !== name && { default_profile: standard }),
    ...(directories && {
      directories: Object.fromEntries(Object.entries(directories).filter(([, profile]) => profile !== name)),
    }),
    profiles: others,
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
    hint: meant === undefined ? undefined : `Did you mean ${meant}?`,
    advice: [{ code: 'list_profiles' }],
  })
}
