import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Gives each test of the suite that calls it a state folder of its own. */
export function useStateFolder(): { path: () => string } {
  let root = ''
  let before: string | undefined
  beforeEach(() => {
    before = process.env['XDG_STATE_HOME']
    root = mkdtempSync(join(tmpdir(), 'chatctl-state-'))
    process.env['XDG_STATE_HOME'] = root
  })
  afterEach(() => {
    if (before === undefined) delete process.env['XDG_STATE_HOME']
    else process.env['XDG_STATE_HOME'] = before
    rmSync(root, { recursive: true, force: true })
  })
  return { path: () => join(root, 'chatctl', 'state') }
}
