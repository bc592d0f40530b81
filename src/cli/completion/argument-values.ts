import { upstreamNames } from '../../contract/upstream-address.ts'
import { suggestModels, suggestProfiles, suggestPrompts, suggestSessions } from './flag-values.ts'
import { permissions, themeModes } from './known-values.ts'
import type { LiveValues } from './live-values.ts'
import { candidates, nothing, type Suggestions, withPrefix } from './suggestions.ts'
import type { DeclaredCommand, TypedLine } from './typed-line.ts'

/** Candidates for the next argument. */
export async function suggestArgument(
  command: DeclaredCommand,
  word: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  const known = Object.values(command.args)
  const arg = known[line.args.length] ?? known.findLast(({ multiple }) => multiple)
  if (!arg) return nothing
  if (arg.options) return candidates(arg.options)
  switch (command.completes?.[arg.name]) {
    case 'settings key':
      return suggestSettingsKeys('')
    case 'settings assignment':
      return suggestAssignments(word, line.args)
    case 'configuration key': {
      const [assigned, key] = /^([^=]+)=/.exec(word) ?? []
      return assigned && key && command.completes?.['value'] === 'configuration value'
        ? withPrefix(assigned, await suggestConfigurationValues(key, line, live))
        : suggestConfigurationKeys(live)
    }
    case 'configuration value':
      return suggestConfigurationValues(line.args[0] ?? '', line, live)
    case 'profile':
      return suggestProfiles(live)
    case 'prompt':
      return suggestPrompts(live)
    case 'session':
      return suggestSessions(live)
    case 'permissions of a user':
      return line.args.length === 0
        ? nothing
        : candidates(permissions.filter((permission) => !line.args.includes(permission)))
    case 'method':
      return candidates(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
    case 'endpoint':
      return suggestEndpoints(line.args[0] ?? '')
    default:
      return ['file', 'other'].includes(arg.name) ? { candidates: [], paths: 'files' } : nothing
  }
}

async function suggestSettingsKeys(suffix: string, given: readonly string[] = []): Promise<Suggestions> {
  const { describeSettingsKey, settingsKeys } = await import('../../contract/resources/settings-keys.ts')
  const free = settingsKeys.filter(({ path }) => !given.includes(path))
  return {
    candidates: free.map(({ path }) => ({
      value: path + suffix,
      description: describeSettingsKey(path),
      isOpen: suffix !== '',
    })),
  }
}

/** @param given earlier assignments of the line */
async function suggestAssignments(word: string, given: readonly string[]): Promise<Suggestions> {
  const [path = '', value] = word.split(/=(.*)/s)
  if (value === undefined) {
    return suggestSettingsKeys(
      '=',
      given.map((one) => one.split('=')[0] ?? ''),
    )
  }
  if (path === 'theme.mode') return candidates(themeModes.map((mode) => `${path}=${mode}`))
  const { settingsKeys } = await import('../../contract/resources/settings-keys.ts')
  const isSwitch = settingsKeys.find((key) => key.path === path)?.type === 'boolean'
  return isSwitch ? candidates([`${path}=true`, `${path}=false`]) : nothing
}

async function suggestConfigurationKeys(live: LiveValues): Promise<Suggestions> {
  const { configurationKeys } = await import('../../config/configuration-keys.ts')
  const { aliasKey } = await import('../../config/model-aliases.ts')
  const { directoryKey } = await import('../../config/profile-directories.ts')
  const profiles = Object.values(live.configuration().profiles ?? {})
  const aliases = profiles.flatMap((profile) => Object.keys(profile.aliases ?? {}))
  const directories = Object.keys(live.configuration().directories ?? {}).map(directoryKey)
  const { candidates: known } = candidates([...configurationKeys, ...aliases.map(aliasKey), ...directories])
  const open = [aliasKey(''), directoryKey('')].map((value) => ({ value, isOpen: true }))
  return { candidates: [...known, ...open] }
}

async function suggestConfigurationValues(
  key: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  if (key.startsWith('alias.')) return suggestModels(line, live)
  if (key.startsWith('directory.')) return suggestProfiles(live)
  switch (key) {
    case 'default_profile':
      return suggestProfiles(live)
    case 'model':
      return suggestModels(line, live)
    case 'output': {
      const { defaultFormats } = await import('../../config/output-formats.ts')
      return candidates(defaultFormats)
    }
    case 'save':
    case 'notify':
      return candidates(['on', 'off'])
    case 'redirect_host':
      return candidates(['127.0.0.1', '::1'])
    case 'upstream':
      return candidates(upstreamNames)
    case 'upstream_key_file':
      return { candidates: [], paths: 'files' }
    default:
      return nothing
  }
}

/** The paths of the interface for this method, up to the first placeholder. */
async function suggestEndpoints(method: string): Promise<Suggestions> {
  const { endpoints } = await import('../../contract/endpoints.ts')
  const found = Object.values(endpoints).filter((endpoint) => endpoint.method === method.toUpperCase())
  return {
    candidates: found.map(({ path }) => ({
      value: path.replace(/\{.*/, ''),
      isOpen: path.includes('{'),
    })),
  }
}
