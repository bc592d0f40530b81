import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Directories } from '../../src/system/directories.ts'

interface StateFolder {
  path(): string
  home(): string
  /** Of the test that runs. */
  directories: Directories
}

/**
 * Gives each test of the suite that calls it a home and a state folder of its own.
 *
 * @param env is told of them
 */
export function useStateFolder(env: NodeJS.ProcessEnv = {}): StateFolder {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'chatctl-state-'))
    Object.assign(env, { HOME: root, XDG_STATE_HOME: root })
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  return {
    path: () => join(root, 'chatctl', 'state'),
    home: () => root,
    directories: new Directories(env),
  }
}
