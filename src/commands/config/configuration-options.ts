import { asksSecret } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { findAlias } from '../../cli/errors/aliases.ts'
import {
  type Configuration,
  changeConfiguration,
  type GlobalKey,
  globalKeys,
  type ProfileKey,
  profileKeys,
} from '../../config/configuration-file.ts'
import { configurationKeys, isGlobalKey } from '../../config/configuration-keys.ts'
import { aliasKey, aliasOf } from '../../config/model-aliases.ts'
import { directoryKey, directoryOf, normalizeDirectory } from '../../config/profile-directories.ts'
import { localProfile, type Options, type Source } from '../../config/resolve-options.ts'
import { formatDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { configValueView } from '../../view/config.ts'
import { adviseSignOut } from '../auth/sign-out-profile.ts'

/** A key of the configuration as it was typed. @throws Failure `usage` naming the nearest key */
export function readConfigurationKey(key: string, { directories, resolvePath }: Context): string {
  if (configurationKeys.includes(key) || aliasOf(key) !== undefined) return key
  const directory = directoryOf(key)
  if (directory !== undefined) {
    return directoryKey(normalizeDirectory(directory, directories.home, resolvePath))
  }
  const message = `Unknown configuration option "${key}"`
  if (asksSecret.test(key.toLowerCase().replaceAll('_', '-'))) {
    const hint = 'The configuration contains no secrets. Sign in with: chatctl auth login --with-api-key'
    throw new Failure('usage', message, { hint })
  }
  const name = key.replaceAll('-', '_')
  const ours = findAlias(`--${key}`)?.slice(2).replaceAll('-', '_') ?? ''
  const meant =
    [name, ours, `default_${name}`].find((known) => configurationKeys.includes(known)) ??
    nearest(name, configurationKeys)
  if (meant === undefined) {
    const hint = `Known: ${configurationKeys.join(', ')}. Show all values with: chatctl config list`
    throw new Failure('usage', message, { hint })
  }
  throw new Failure('usage', message, { hint: `Did you mean ${meant}?` })
}

/**
 * The profile in which a key is set or unset; null for a key that belongs to no profile.
 * @throws Failure `usage` for such a key with `--profile`
 */
export function profileOfKey(key: string, { options: { profile } }: Context): string | null {
  if (!isGlobalKey(key) && directoryOf(key) === undefined) return profile.value ?? localProfile
  if (profile.source !== 'flag') return null
  throw new Failure('usage', `${key} belongs to no profile, so it cannot be used with --profile`, {
    hint: 'Omit --profile.',
  })
}

/** Changes the configuration file, except with `--dry-run`, and shows the new value of an option. */
export async function changeOption(
  context: Context,
  option: { profile: string | null; key: string; value: string | null },
  change: (before: Configuration) => Configuration,
): Promise<void> {
  const { profile, key, value } = option
  if (!context.dryRun) await changeConfiguration(context.directories, change)
  const after = change(context.configuration)
  await context.output.show(configValueView, option)
  const { model_server: server, model_server_key_file: keyFile } = context.configuration
  if (keyFile !== undefined && after.model_server_key_file === undefined && key === 'model_server')
    context.output.notice(
      `${context.dryRun ? 'Would remove' : 'Removed'} model_server_key_file, the API key for ${server}`,
    )
  if (key === 'base_url' && profile !== null && !context.dryRun)
    adviseSignOut(context, profile, value ?? undefined)
}

/** One option as it is in force. */
interface OptionRow {
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
