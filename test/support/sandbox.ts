import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A home of its own for the runs of one test, and nothing of the tester's environment. */
export interface Sandbox {
  home: string
  env: NodeJS.ProcessEnv
  remove(): void
}

/**
 * @param ownCache whether the folder of caches begins empty too. Otherwise all sandboxes of this
 *   checkout and user share it, as all runs of a person do: to compile anew is a third of a short run.
 *   Whoever has completion ask for models needs one: it keeps them by the address of the service, and
 *   the port of a server may have been another test's.
 */
export function createSandbox({ ownCache = false } = {}): Sandbox {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-test-'))
  return {
    home,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      TZ: 'UTC',
      // What follows is for Windows, where HOME alone moves nothing.
      USERPROFILE: home,
      APPDATA: join(home, 'AppData', 'Roaming'),
      LOCALAPPDATA: join(home, 'AppData', 'Local'),
      SystemRoot: process.env['SystemRoot'],
      XDG_CACHE_HOME: ownCache ? undefined : sharedCache,
      // Coverage of the processes that tests start.
      NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    },
    remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/**
 * Of this folder and user alone: what another build has left is removed by the program, and what is
 * another user's is not used by it.
 */
const sharedCache = join(
  tmpdir(),
  `chatctl-test-cache-${createHash('sha256')
    .update(`${process.getuid?.()} ${import.meta.dirname}`)
    .digest('hex')
    .slice(0, 12)}`,
)
