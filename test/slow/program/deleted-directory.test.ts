import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { binary } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a working directory that was deleted', () => {
  it('is reported by the commands that need it, and other commands still run', function () {
    // Windows does not delete the working directory of a process.
    if (process.platform === 'win32') return this.skip()
    const sandbox = createSandbox()
    const lost = join(sandbox.home, 'lost')
    const run = (...args: string[]) => {
      mkdirSync(lost, { recursive: true })
      const words = ['-c', 'rmdir "$0"; exec "$@"', lost, process.execPath, binary, ...args]
      return spawnSync('/bin/sh', words, { cwd: lost, env: sandbox.env, encoding: 'utf8' })
    }
    try {
      expect(run('config', 'list').status).to.equal(0)
      expect(run('service', 'keys', 'create', '--name', 'x').status).to.equal(0)
      for (const args of [
        ['service', 'backup', '--to', 'copy.db'],
        ['service', 'restore', 'copy.db', '--yes'],
        ['service', 'keys', 'list', '--data', 'here'],
      ]) {
        const { status, stdout, stderr } = run(...args)
        expect({ status, stdout }, args.join(' ')).to.deep.equal({ status: 1, stdout: '' })
        expect(stderr).to.match(/^Error: The working directory no longer exists\nHint: {2}/)
      }
    } finally {
      sandbox.remove()
    }
  })
})
