import { type GlobalKey, globalKeys, type ProfileKey, profileKeys } from '../../config/configuration-file.ts'
import { aliasKey } from '../../config/model-aliases.ts'
import { directoryKey } from '../../config/profile-directories.ts'
import { localProfile, type Options, type Source } from '../../config/resolve-options.ts'
import { formatDuration } from '../../config/units.ts'
import type { Context } from '../context/context.ts'

/** One option as it is in force. */
export interface OptionRow {
  key: string
  value: string | null
  source: Source
  /** The flag, the variable, the profile or the file that it came from; null for a default. */
  from: string | null
}

/** Every option in force and where it came from. */
export function listOptions(context: Context): OptionRow[] {
  const { options } = context
  // Where neither is said, it is the embedded service.
  const inForce = options.profile.value ?? (options.base_url.value === undefined ? localProfile : undefined)
  return [
    { key: 'profile', ...describe(inForce, options.profile) },
    ...globalKeys.map((key) => describeGlobal(key, context)),
    ...Object.entries(context.configuration.directories ?? {}).map(([directory, profile]) => ({
      key: directoryKey(directory),
      value: profile,
      source: 'profile' as const,
      from: 'the configuration file',
    })),
    ...profileKeys.map((key) => ({ key, ...describe(shown(key, options), options[key]) })),
    ...Object.entries(options.aliases.value).map(([alias, model]) => ({
      key: aliasKey(alias),
      ...describe(model, options.aliases),
    })),
  ]
}

/** A key that belongs to no profile. */
function describeGlobal(key: GlobalKey, { configuration, env }: Context): OptionRow {
  const variable = `CHATCTL_${key.toUpperCase()}`
  const set = key === 'default_profile' ? undefined : env[variable]
  if (set) return { key, value: set, source: 'environment', from: variable }
  const stored = configuration[key]
  if (stored === undefined) return { key, value: null, source: 'default', from: null }
  return { key, value: stored, source: 'profile', from: 'the configuration file' }
}

function describe(value: string | undefined, { source, from }: { source: Source; from: string }) {
  return { value: value ?? null, source, from: source === 'default' ? null : from }
}

function shown(key: ProfileKey, options: Options): string | undefined {
  if (key === 'timeout' || key === 'max_wait') return formatDuration(options[key].value)
  const { value } = options[key]
  return value === undefined ? undefined : String(value)
}
