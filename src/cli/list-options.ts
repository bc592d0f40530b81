import type { ProfileKey } from '../config/configuration-file.ts'
import { configurationKeys, defaultProfileKey } from '../config/configuration-keys.ts'
import { formatDuration } from '../config/duration.ts'
import { localProfile, type Options, type Source } from '../config/resolve-options.ts'
import type { Context } from './context.ts'

/** One option as it is in force. */
export interface OptionRow {
  key: string
  value: string | null
  source: Source
  /** The flag, the variable, the profile or the file that it came from; null for a default. */
  from: string | null
}

/** Every option in force and where it came from. */
export function listOptions({ options, configuration }: Context): OptionRow[] {
  // Where neither is said, it is the embedded service.
  const inForce = options.profile.value ?? (options.base_url.value === undefined ? localProfile : undefined)
  const profile: OptionRow = { key: 'profile', ...describe(inForce, options.profile) }
  const rest = configurationKeys
    .filter((key): key is ProfileKey => key !== defaultProfileKey)
    .map((key) => ({ key, ...describe(shown(key, options), options[key]) }))
  const standard = configuration.default_profile
  const fallback: OptionRow = {
    key: defaultProfileKey,
    value: standard ?? null,
    source: standard === undefined ? 'default' : 'profile',
    from: standard === undefined ? null : 'the configuration file',
  }
  return [profile, fallback, ...rest]
}

function describe(value: string | undefined, { source, from }: { source: Source; from: string }) {
  return { value: value ?? null, source, from: source === 'default' ? null : from }
}

function shown(key: ProfileKey, options: Options): string | undefined {
  if (key === 'timeout' || key === 'max_wait') return formatDuration(options[key].value)
  const { value } = options[key]
  return value === undefined ? undefined : String(value)
}
