import { Failure } from '../contract/failure.ts'
import { nearest } from '../contract/nearest-word.ts'
import type { Configuration } from './configuration-file.ts'
import { demandProfileName } from './configuration-keys.ts'
import { localProfile, profileNames } from './resolve-options.ts'

/**
 * The configuration with another name for a profile, which is also changed where other keys name it. The profile
 * has its former name as `renamed_from`, until `withoutFormerName`.
 *
 * @throws Failure `usage`
 */
export function withRenamedProfile(configuration: Configuration, from: string, to: string): Configuration {
  demandOwnProfile(configuration, from)
  if (profileNames(configuration).includes(to)) {
    throw new Failure('usage', `Profile "${to}" already exists`, { hint: 'Choose another name.' })
  }
  demandProfileName(to, configuration)
  const { profiles = {}, directories, default_profile: standard } = configuration
  const named = (name: string) => (name === from ? to : name)
  return {
    ...configuration,
    ...(standard !== undefined && { default_profile: named(standard) }),
    ...(directories && { directories: mapValues(directories, named) }),
    // In its former place, because lists are in this order.
    profiles: Object.fromEntries(
      Object.entries(profiles).map(([name, profile]) =>
        name === from ? [to, { ...profile, renamed_from: from }] : [name, profile],
      ),
    ),
  }
}

/** The configuration after everything of a renamed profile has its new name. */
export function withoutFormerName(configuration: Configuration, name: string): Configuration {
  const { profiles = {} } = configuration
  if (!Object.hasOwn(profiles, name)) return configuration
  const { renamed_from: _, ...profile } = profiles[name] ?? {}
  return { ...configuration, profiles: { ...profiles, [name]: profile } }
}

/**
 * The former name of a profile whose rename was interrupted. Undefined if another profile has that name now.
 */
export function formerNameOf({ profiles = {} }: Configuration, name: string): string | undefined {
  const former = Object.hasOwn(profiles, name) ? profiles[name]?.renamed_from : undefined
  return former === undefined || Object.hasOwn(profiles, former) ? undefined : former
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

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
