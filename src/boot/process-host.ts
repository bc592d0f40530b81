import { Keychain, type KeychainOptions } from '../auth/credentials/keychain.ts'
import type { Host } from '../cli/host.ts'
import { localModelServers } from '../contract/model-server-address.ts'
import { systemClock } from '../system/clock.ts'
import { LogWriter } from '../system/log-writer.ts'
import { once } from '../system/once.ts'
import { isFile, isNullDevice, isTerminal } from './descriptors.ts'
import { onExit, untilEnded } from './end-process.ts'
import { watchSignals } from './watch-signals.ts'

/** This process as the host of a run. Getters open the streams on first use. */
export function createProcessHost({
  installation,
  keychainProcess,
  expectStreamedReply,
  onReaderGone,
}: Pick<Host, 'installation' | 'expectStreamedReply' | 'onReaderGone'> & {
  keychainProcess: KeychainOptions['childProcess']
}): Host {
  const { env, platform } = process
  // Windows would start a program of the working directory rather than the one of that name in PATH.
  if (platform === 'win32') env['NoDefaultCurrentDirectoryInExePath'] = '1'
  // Errors of stderr are ignored. Opening it may load node:net, and most runs write nothing to it.
  const stderr = once(() => process.stderr.on('error', () => {}))
  const log = once(() => (isFile(2) ? undefined : new LogWriter(stderr(), systemClock)))
  return {
    installation,
    platform,
    env,
    cwd: undefined,
    get stdin() {
      return process.stdin
    },
    get stdout() {
      return process.stdout
    },
    get stderr() {
      return stderr()
    },
    isTerminal: terminals(),
    get isStdinNull() {
      return isNullDevice(0)
    },
    ...watchSignals(platform),
    onExit,
    onReaderGone,
    untilEnded,
    expectStreamedReply,
    modelServers: localModelServers,
    clock: systemClock,
    get log() {
      return log()
    },
    openKeychain: (options) => new Keychain({ ...options, env, childProcess: keychainProcess, untilEnded }),
    get hasDisplay() {
      return hasDisplay(env, platform)
    },
    openBrowser: async (url) => {
      const { openBrowser } = await import('../auth/open-browser.ts')
      return openBrowser(url, env['BROWSER'])
    },
  }
}

/** Each is determined once, although a run needs it a dozen times. */
function terminals(): Host['isTerminal'] {
  const stdin = once(() => isTerminal(0))
  const stdout = once(() => isTerminal(1))
  const stderr = once(() => isTerminal(2))
  return {
    get stdin() {
      return stdin()
    },
    get stdout() {
      return stdout()
    },
    get stderr() {
      return stderr()
    },
  }
}

/** Whether a browser can probably be opened on this machine, by the environment of a process. */
export function hasDisplay(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env['BROWSER']) return true
  // The user is at another machine.
  if (env['SSH_CONNECTION']) return false
  if (platform === 'darwin' || platform === 'win32') return true
  // In WSL, the browser of Windows opens.
  return Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'] || env['WSL_DISTRO_NAME'])
}
