import { homedir, userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { Failure } from '../contract/failure.ts'

/**
 * Where chatctl keeps its files: the XDG base directories, on Windows %APPDATA% and
 * %LOCALAPPDATA%. The specification has relative XDG paths ignored; so is a relative HOME, which
 * would leave keys and data in whatever folder one stands in. Each function throws a Failure
 * `config` where there is neither.
 */

export function configDirectory(): string {
  return join(base('XDG_CONFIG_HOME', '.config', 'APPDATA'), 'chatctl')
}

export function dataDirectory(): string {
  return join(base('XDG_DATA_HOME', '.local/share', 'LOCALAPPDATA'), 'chatctl')
}

/** Where the transcripts of sessions are. */
export function sessionsDirectory(): string {
  return join(dataDirectory(), 'sessions')
}

export function stateDirectory(): string {
  return join(base('XDG_STATE_HOME', '.local/state', 'LOCALAPPDATA'), 'chatctl', 'state')
}

export function cacheDirectory(): string {
  return join(base('XDG_CACHE_HOME', '.cache', 'LOCALAPPDATA'), 'chatctl', 'cache')
}

/**
 * Locks of what the whole user shares, such as the keychain: not where XDG_STATE_HOME says, for two
 * processes of one user that disagree about that would each have a lock of their own.
 */
export function lockDirectory(): string {
  const windows = process.env['LOCALAPPDATA']
  const root = process.platform === 'win32' && windows ? windows : join(homeDirectory(), '.local/state')
  return join(root, 'chatctl', 'locks')
}

function base(xdg: string, underHome: string, onWindows: string): string {
  const named = process.env[xdg]
  if (named && isAbsolute(named)) return named
  const windows = process.env[onWindows]
  if (process.platform === 'win32' && windows) return windows
  return join(homeDirectory(), underHome)
}

function homeDirectory(): string {
  try {
    const home = homedir()
    return isAbsolute(home) ? home : userInfo().homedir
  } catch (cause) {
    // A container may run under a user id that its system does not know.
    throw new Failure('config', 'There is no home folder: HOME is not set and this user has none', {
      hint: 'Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME, to an absolute path.',
      cause,
    })
  }
}
