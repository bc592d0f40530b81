import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const names = ['XDG_STATE_HOME', 'HOME'] as const

/** Gives each test of the suite that calls it a home and a state folder of its own. */
export function useStateFolder(): { path: () => string; home: () => string } {
  let root = ''
  let before: (string | undefined)[] = []
  beforeEach(() => {
    before = names.map((name) => process.env[name])
    root = mkdtempSync(join(tmpdir(), 'chatctl-state-'))
    for (const name of names) process.env[name] = root
  })
  afterEach(() => {
    for (const [index, name] of names.entries()) {
      const value = before[index]
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(root, { recursive: true, force: true })
  })
  return { path: () => join(root, 'chatctl', 'state'), home: () => root }
}
