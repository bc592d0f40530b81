import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A home directory for the runs of one test, without the environment of the developer. */
export interface Sandbox {
  home: string
  env: NodeJS.ProcessEnv
  remove(): void
}

/**
 * @param ownCache whether the cache directory is empty, too. Otherwise all sandboxes of this checkout
 *   and user share it, as all runs of a person do, because compilation takes a third of a short run.
 *   A test in which completion requests models needs its own cache: models are cached by the address
 *   of the service, and another test may have used the same port.
 */
export function createSandbox({ ownCache = false } = {}): Sandbox & Disposable {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-test-'))
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  return {
    home,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      TZ: 'UTC',
      // For Windows, where HOME has no effect.
      USERPROFILE: home,
      APPDATA: join(home, 'AppData', 'Roaming'),
      LOCALAPPDATA: join(home, 'AppData', 'Local'),
      SystemRoot: process.env['SystemRoot'],
      XDG_CACHE_HOME: ownCache ? undefined : sharedCache,
      // Collects coverage of the processes that tests start.
      NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    },
    remove,
    [Symbol.dispose]: remove,
  }
}

/**
 * Shared only within one checkout and user. The program removes the files of another build, and does not
 * use the files of another user.
 */
const sharedCache = join(
  tmpdir(),
  `chatctl-test-cache-${createHash('sha256')
    .update(`${process.getuid?.()} ${import.meta.dirname}`)
    .digest('hex')
    .slice(0, 12)}`,
)
