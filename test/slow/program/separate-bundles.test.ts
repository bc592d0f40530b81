import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../../scripts/package-file.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { sse, startScriptedServer } from '../../support/scripted-server.ts'

/** See docs/decisions/0003-bundling.md. */
describe('the program in separate bundles', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)

  /** A copy of the installed package that lacks a file. */
  const runWithout = (name: string, args: readonly string[]) => {
    const copy = join(sandbox.home, 'package')
    for (const own of ['bin', 'dist', 'package.json'])
      cpSync(join(root, own), join(copy, own), { recursive: true })
    rmSync(join(copy, name))
    return runProgram(sandbox, args, { program: [process.execPath, join(copy, 'bin/run.js')] })
  }

  it('reports that it is not built', async () => {
    expect(await runWithout('dist/start.cjs', ['config', 'path'])).to.deep.include({
      exitCode: 1,
      stdout: '',
      stderr: 'Error: chatctl is not built.\nHint:  npm run build\n',
    })
  })

  it('reports a failure after an update has removed a bundle that only other errors need', async () => {
    const { exitCode, stderr } = await runWithout('dist/usage-error.cjs', ['config', 'get', 'unknown'])
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/^Error: Unknown configuration option "unknown"/)
  })

  it('shows that a stream was interrupted, although the trace is in another bundle than the client', async () => {
    await using server = await startScriptedServer(
      sse([{ delta: 'a' }], { done: false, ending: 'unfinished' }),
    )
    const send = ['chat', 'send', 'Hello', '--stream', '--debug', '--base-url', server.url]
    const { stderr } = await runProgram(sandbox, send, { env: { CHATCTL_API_KEY: 'key' } })
    expect(stderr).to.include('[stream interrupted after')
  })
})
