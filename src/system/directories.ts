import { userInfo } from 'node:os'
import { isAbsolute, join, win32 } from 'node:path'
import { Failure } from '../contract/failure.ts'

/**
 * Where chatctl keeps its files: the XDG base directories, on Windows %APPDATA% and
 * %LOCALAPPDATA%. The specification has relative XDG paths ignored; so is a relative HOME, which
 * would leave keys and data in whatever working directory. Each property but `temporary` throws a
 * Failure `config` where it needs a home directory and there is none.
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

  /** Where the transcripts of sessions are. */
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
   * Locks of what the whole user shares, such as the keychain: not where XDG_STATE_HOME says, for two
   * processes of one user that disagree about that would each have a lock of their own.
   */
  get locks(): string {
    const windows = this.#env['LOCALAPPDATA']
    const root = this.#isWindows && windows ? windows : join(this.home, '.local/state')
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

  /** As `os.tmpdir` finds it. */
  get temporary(): string {
    const { TMPDIR, TMP, TEMP, SystemRoot, windir } = this.#env
    if (this.#isWindows) return TEMP || TMP || win32.join(SystemRoot || windir || '', 'temp')
    const named = TMPDIR || TMP || TEMP || '/tmp'
    return named === '/' ? named : named.replace(/\/$/, '')
  }

  #base(xdg: string, underHome: string, onWindows: string): string {
    const named = this.#env[xdg]
    if (named && isAbsolute(named)) return named
    const windows = this.#env[onWindows]
    if (this.#isWindows && windows) return windows
    return join(this.home, underHome)
  }
}
