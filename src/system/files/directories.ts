import { userInfo } from 'node:os'
import { isAbsolute, join, win32 } from 'node:path'
import { Failure } from '../../contract/failure.ts'

/**
 * The directories of chatctl: the XDG base directories, or %APPDATA% and %LOCALAPPDATA% on Windows.
 * Relative XDG paths are ignored, as the specification requires. Other relative paths are ignored too, because
 * they would put keys and data into the working directory. Each property except `temporary` throws a
 * Failure `config` if it needs a home directory and the user has none.
 */
export class Directories {
  readonly #env: NodeJS.ProcessEnv
  readonly #isWindows: boolean

  constructor(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform) {
    this.#env = env
    this.#isWindows = platform === 'win32'
  }

  get config(): string {
    return join(this.#base('XDG_CONFIG_HOME', '.config', 'APPDATA'), 'chatctl')
  }

  get data(): string {
    return join(this.#base('XDG_DATA_HOME', '.local/share', 'LOCALAPPDATA'), 'chatctl')
  }

  /** The transcripts of sessions. */
  get sessions(): string {
    return join(this.data, 'sessions')
  }

  get state(): string {
    return join(this.#base('XDG_STATE_HOME', '.local/state', 'LOCALAPPDATA'), 'chatctl', 'state')
  }

  get cache(): string {
    return join(this.#base('XDG_CACHE_HOME', '.cache', 'LOCALAPPDATA'), 'chatctl', 'cache')
  }

  /**
   * Locks of resources that belong to the user, such as the keychain. They ignore XDG_STATE_HOME, because
   * two processes of one user with different values would not share the lock.
   */
  get locks(): string {
    const root = this.#isWindows ? this.#onWindows('LOCALAPPDATA') : join(this.home, '.local/state')
    return join(root, 'chatctl', 'locks')
  }

  get home(): string {
    const home = this.#env[this.#isWindows ? 'USERPROFILE' : 'HOME']
    if (home && isAbsolute(home)) return home
    try {
      return userInfo().homedir
    } catch (cause) {
      // A container may run under a user id that its system does not know.
      throw new Failure('config', 'No home directory: HOME is not set, and the user has none', {
        hint: 'Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME, and XDG_STATE_HOME, to an absolute path.',
        cause,
      })
    }
  }

  /** Of the programs of the user on Windows. */
  get applicationData(): string {
    return this.#onWindows('APPDATA')
  }

  /** Same rules as `os.tmpdir`. */
  get temporary(): string {
    const { TMPDIR, TMP, TEMP, SystemRoot, windir } = this.#env
    if (this.#isWindows) return TEMP || TMP || win32.join(SystemRoot || windir || '', 'temp')
    const named = TMPDIR || TMP || TEMP || '/tmp'
    return named === '/' ? named : named.replace(/\/$/, '')
  }

  #base(xdg: string, underHome: string, onWindows: keyof typeof windowsDefaults): string {
    const named = this.#env[xdg]
    if (named && isAbsolute(named)) return named
    return this.#isWindows ? this.#onWindows(onWindows) : join(this.home, underHome)
  }

  #onWindows(name: keyof typeof windowsDefaults): string {
    const named = this.#env[name]
    return named && win32.isAbsolute(named) ? named : join(this.home, windowsDefaults[name])
  }
}

/** In the home directory. Services and minimal environments may lack the variables. */
const windowsDefaults = { APPDATA: 'AppData/Roaming', LOCALAPPDATA: 'AppData/Local' }
