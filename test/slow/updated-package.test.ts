import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../scripts/package-file.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** An update replaces the files of dist while an older process runs, which may last for hours. */
describe('a program whose package is updated while it runs', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  beforeEach(() => {
    sandbox = createSandbox()
  })
  afterEach(() => sandbox?.remove())

  it('reports the failure of a command without the code for errors about command lines', async () => {
    const copy = join(sandbox.home, 'package')
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(root, name), join(copy, name), { recursive: true })
    rmSync(join(copy, 'dist/usage-error.cjs'))
    const program = [process.execPath, join(copy, 'bin/run.js')] as const
    const { exitCode, stderr } = await runProgram(sandbox, ['config', 'get', 'unknown'], { program })
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/^Error: Unknown configuration key "unknown"/)
  })
})
