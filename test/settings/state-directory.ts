import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Directories } from '../../src/system/files/directories.ts'

interface StateDirectory {
  path(): string
  home(): string
  directories: Directories
}

/**
 * Gives each test of the suite a separate home directory and state directory.
 *
 * @param env receives the variables for both
 */
export function useStateDirectory(env: NodeJS.ProcessEnv = {}): StateDirectory {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'chatctl-state-'))
    Object.assign(env, { HOME: root, XDG_STATE_HOME: root })
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  return { path: () => join(root, 'chatctl', 'state'), home: () => root, directories: new Directories(env) }
}
