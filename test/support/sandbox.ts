import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A home of its own for the runs of one test, and nothing of the tester's environment. */
export interface Sandbox {
  home: string
  env: NodeJS.ProcessEnv
  remove(): void
}

export function createSandbox(): Sandbox {
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
      // Coverage of the processes that tests start.
      NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    },
    remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }),
  }
}
