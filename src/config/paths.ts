import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * Where chatctl keeps its files: the XDG base directories, on Windows %APPDATA% and
 * %LOCALAPPDATA%. The specification has relative XDG paths ignored.
 */

export function configFolder(): string {
  return join(base('XDG_CONFIG_HOME', '.config', 'APPDATA'), 'chatctl')
}

export function dataFolder(): string {
  return join(base('XDG_DATA_HOME', '.local/share', 'LOCALAPPDATA'), 'chatctl')
}

export function stateFolder(): string {
  return join(base('XDG_STATE_HOME', '.local/state', 'LOCALAPPDATA'), 'chatctl', 'state')
}

export function cacheFolder(): string {
  return join(base('XDG_CACHE_HOME', '.cache', 'LOCALAPPDATA'), 'chatctl', 'cache')
}

function base(xdg: string, underHome: string, onWindows: string): string {
  const named = process.env[xdg]
  if (named && isAbsolute(named)) return named
  const windows = process.env[onWindows]
  if (process.platform === 'win32' && windows) return windows
  return join(homedir(), underHome)
}
