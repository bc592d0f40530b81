import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a working directory that was deleted', () => {
  const sandbox = perTest(createSandbox)
  const before = process.cwd()
  afterEach(() => process.chdir(before))

  /** The built program is tried in test/slow/program/deleted-directory.test.ts. */
  it('is reported by a command that needs it, and other commands still run', async function () {
    // Windows does not delete the working directory of a process.
    if (process.platform === 'win32') return this.skip()
    const lost = join(sandbox.home, 'lost')
    mkdirSync(lost)
    process.chdir(lost)
    rmdirSync(lost)
    const run = (...args: string[]) => runChatctl(sandbox, args, { host: { cwd: undefined } })
    expect(await run('config', 'path')).to.include({ exitCode: 0, stderr: '' })
    const { exitCode, stdout, stderr } = await run('service', 'keys', 'list', '--data', 'here')
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: '' })
    expect(stderr).to.match(/^Error: The working directory no longer exists\nHint: {2}Change to an existing/)
  })
})
