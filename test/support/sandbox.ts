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
 * @param ownCache whether the compiled code of earlier runs begins empty too. Otherwise all sandboxes
 *   of this folder share it, as all runs of a person do: to compile anew is a third of a short run.
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

/** Of this folder alone: what another build has left is removed by the program. */
const sharedCache = join(
  tmpdir(),
  `chatctl-test-cache-${createHash('sha256')
    .update(import.meta.dirname)
    .digest('hex')
    .slice(0, 12)}`,
)
