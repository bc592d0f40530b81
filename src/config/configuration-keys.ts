import { Failure } from '../contract/failure.ts'
import {
  type Configuration,
  type Profile,
  type ProfileKey,
  profileKeys,
  signInKeys,
} from './configuration-file.ts'
import { outputFormats, readOutputFormat } from './output-formats.ts'
import {
  localProfile,
  readAddress,
  readCount,
  readDuration,
  readPorts,
  readRedirectHost,
  readRedirectPath,
  readSwitch,
  readTimeout,
  readTokenUrl,
  unreadable,
} from './resolve-options.ts'

/** The only key outside of profiles. */
export const defaultProfileKey = 'default_profile'

export const configurationKeys: readonly string[] = [defaultProfileKey, ...profileKeys]

/** Validates a value before it is stored. The text is stored unchanged. */
const readers: Partial<Record<ProfileKey, (text: string) => unknown>> = {
  base_url: readAddress,
  auth_url: readAddress,
  token_url: readTokenUrl,
  redirect_host: readRedirectHost,
  redirect_port: readPorts,
  redirect_path: readRedirectPath,
  output: (text) => readOutputFormat(text, outputFormats),
  timeout: readTimeout,
  retries: readCount,
  max_wait: readDuration,
  notify: readSwitch,
}

/**
 * The configuration with one value set. Creates the profile if it does not exist.
 *
 * @param profile required for every key but `default_profile`
 * @throws Failure `usage` for a value that is not valid for the key
 */
export function withValue(
  configuration: Configuration,
  profile: string,
  key: string,
  value: string,
): Configuration {
  if (key === defaultProfileKey) {
    if (value !== localProfile && !Object.hasOwn(configuration.profiles ?? {}, value)) {
      throw new Failure('usage', `Unknown profile "${value}"`, {
        advice: [{ code: 'create_profile', profile: value }],
      })
    }
    return { ...configuration, default_profile: value }
  }
  const known = key as ProfileKey
  judge(known, value)
  if (profile === localProfile && (known === 'base_url' || signInKeys.some((own) => own === known))) {
    throw new Failure('usage', `Profile "${localProfile}" is the embedded service and has no ${known}`)
  }
  demandProfileName(profile)
  const stored: Profile = { ...configuration.profiles?.[profile], [known]: value }
  return { ...configuration, profiles: { ...configuration.profiles, [profile]: stored } }
}

/** The configuration without the value of a key in a profile. */
export function withoutValue(configuration: Configuration, profile: string, key: string): Configuration {
  if (key === defaultProfileKey) {
    const { default_profile: _, ...rest } = configuration
    return rest
  }
  const held = configuration.profiles?.[profile]
  if (held === undefined) return configuration
  const { [key as ProfileKey]: _, ...stored } = held
  return { ...configuration, profiles: { ...configuration.profiles, [profile]: stored } }
}

/** @throws Failure `usage` */
export function demandProfileName(name: string): void {
  if (name.length <= 64 && /^[\w.@-]+$/.test(name) && name !== '__proto__') return
  throw new Failure('usage', `"${name}" is not a valid profile name`, {
    hint: 'Use at most 64 characters: letters, digits, and . _ - @',
  })
}

function judge(key: ProfileKey, value: string): void {
  try {
    if (value.trim() === '') throw new Error('must not be empty')
    readers[key]?.(value)
  } catch (error) {
    throw unreadable(key, value, error)
  }
}
