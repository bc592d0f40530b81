import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../../scripts/package-file.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'

/** See docs/decisions/0003-bundling.md. */
describe('the program in separate bundles', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  beforeEach(() => {
    sandbox = createSandbox()
  })
  afterEach(() => sandbox?.remove())

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
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"delta":"a"}\n\n', () => response.destroy())
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const send = ['chat', 'send', 'Hello', '--stream', '--debug', '--base-url', url]
    const { stderr } = await runProgram(sandbox, send, { env: { CHATCTL_API_KEY: 'key' } })
    server.close()
    expect(stderr).to.include('[stream interrupted after')
  })
})
