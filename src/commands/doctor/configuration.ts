import { existsSync } from 'node:fs'
import { quoteWord } from '../../cli/command-line.ts'
import {
  type Configuration,
  configurationPath,
  globalKeys,
  type Profile,
  profileKeys,
} from '../../config/configuration-file.ts'
import { withValue } from '../../config/configuration-keys.ts'
import { directoryKey } from '../../config/profile-directories.ts'
import { localProfile, profileNames } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { type Doctor, type Examined, ok, warning } from './finding.ts'

/** The file, and every profile in it, the one in use or not. @throws Failure for the file or that one */
export function examineConfiguration({ context }: Doctor): Examined[] {
  const { configuration, configurationFailure } = context
  if (configurationFailure) throw configurationFailure
  const path = configurationPath(context.directories)
  if (!existsSync(path)) return [ok('configuration', `${path} does not exist yet, and is not needed`)]
  const faults = Object.entries(configuration.profiles ?? {}).flatMap(([name, profile]) =>
    faultsOf(name, profile),
  )
  const names = profileNames(configuration)
  const standard = configuration.default_profile
  if (standard !== undefined && !names.includes(standard)) {
    const hint = 'Select another with: chatctl auth use local'
    faults.push(warning('configuration', `The default profile "${standard}" does not exist`, hint))
  }
  for (const [directory, profile] of Object.entries(configuration.directories ?? {})) {
    if (names.includes(profile)) continue
    const message = `The profile of the directory ${directory} is "${profile}", which does not exist`
    const key = quoteWord(directoryKey(directory))
    faults.push(warning('configuration', message, `Remove the directory with: chatctl config unset ${key}`))
  }
  const globals = globalKeys.filter((key) => key !== 'default_profile')
  faults.push(
    ...globals.flatMap((key) =>
      faultsOfValue(path, key, configuration[key], localProfile, '', configuration),
    ),
  )
  if (faults.length > 0) return faults
  return [
    ok('configuration', `${path}: profiles ${names.join(', ')}${standard ? `; default: ${standard}` : ''}`),
  ]
}

function faultsOf(name: string, profile: Profile): Examined[] {
  const isAddressed = name === localProfile || profile.base_url !== undefined
  const signIn = `Sign in with: chatctl auth login --profile ${quoteWord(name)} --base-url https://HOST`
  const missing = isAddressed ? [] : [warning('configuration', `Profile "${name}" has no base URL`, signIn)]
  const place = ` --profile ${quoteWord(name)}`
  const unreadable = profileKeys.flatMap((key) =>
    faultsOfValue(`Profile "${name}"`, key, profile[key], name, place, { profiles: { [name]: profile } }),
  )
  return [...missing, ...unreadable]
}

/**
 * @param place the flag that selects the profile of the key
 * @param others the other keys that it may depend on
 */
function faultsOfValue(
  owner: string,
  key: string,
  value: string | undefined,
  profile: string,
  place: string,
  others: Configuration = {},
): Examined[] {
  if (value === undefined) return []
  try {
    withValue({ profiles: { [profile]: {} }, ...others }, profile, key, value)
    return []
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const correction = `Set it with: chatctl config set ${key} VALUE${place}`
    return [warning('configuration', `${owner}: ${error.message}`, correction)]
  }
}
