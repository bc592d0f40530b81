import { configurationKeys, isGlobalKey } from '../../config/configuration-keys.ts'
import { aliasOf } from '../../config/model-aliases.ts'
import { directoryKey, directoryOf, normalizeDirectory } from '../../config/profile-directories.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { asksSecret, commandFor, looksSecret } from '../command-line.ts'
import type { Context } from '../context/context.ts'
import { findAlias } from '../errors/aliases.ts'

/**
 * A key of the configuration as it was typed.
 *
 * @param use the command of `config` that has the key, and the value after it
 * @throws Failure `usage` naming the nearest key
 */
export function readConfigurationKey(
  key: string,
  context: Context,
  use: { command: 'get' | 'set' | 'unset'; value?: string | undefined },
): string {
  if (configurationKeys.includes(key) || aliasOf(key) !== undefined) return key
  const directory = directoryOf(key)
  if (directory !== undefined) {
    return directoryKey(normalizeDirectory(directory, context.directories.home, context.resolvePath))
  }
  const message = `Unknown configuration key "${key}"`
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
  const words = use.value === undefined || looksSecret(use.value) ? [] : [use.value]
  const line = commandFor(context, 'config', use.command, meant, ...words)
  throw new Failure('usage', message, { hint: `Did you mean ${meant}? Run: ${line}` })
}

/**
 * The profile in which a key is set or unset; null for a key that belongs to no profile.
 *
 * @throws Failure `usage` for such a key with `--profile`
 */
export function profileOfKey(key: string, { options: { profile } }: Context): string | null {
  if (!isGlobalKey(key) && directoryOf(key) === undefined) return profile.value ?? localProfile
  if (profile.source !== 'flag') return null
  throw new Failure('usage', `${key} belongs to no profile, so it cannot be used with --profile`, {
    hint: 'Omit --profile.',
  })
}
