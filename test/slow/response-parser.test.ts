import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startFaultServer } from '../support/fault-server.ts'
import { perSuite } from '../support/lifetime.ts'
import { binary } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('the parser of responses', () => {
  const sandbox = perSuite(() => createSandbox())

  it('is not optimized for a streamed reply, because that takes a third of the run', async function () {
    this.timeout(30_000)
    const server = await startFaultServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      for (let index = 0; index < 2000; index++) response.write('word ')
      response.end('end')
    })
    const argv = ['--trace-wasm-compilation-times', binary, 'chat', 'send', 'Hello', '--no-save']
    const env = { ...sandbox.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key' }
    const run = promisify(execFile)(process.execPath, argv, { env })
    run.child.stdin?.end()
    const { stdout } = await run.finally(() => server.close())
    expect(stdout).to.contain('word end').and.to.contain('using Liftoff')
    expect(stdout).not.to.match(/using TurboFan/i)
  })
})
