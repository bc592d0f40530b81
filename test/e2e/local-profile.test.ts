import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('chat send with the profile local', () => {
  const sandbox = perSuite(createSandbox)

  it('loads neither an HTTP server nor an HTTP client', async () => {
    // Under other flags, V8 rejects the code cache of the package.
    const env = { XDG_CACHE_HOME: join(sandbox.home, 'cache'), NODE_OPTIONS: '--stack-trace-limit=50' }
    const { stdout } = await runProgram(sandbox, ['chat', 'send', 'Hello', '--profile', 'local'], { env })
    expect(stdout).to.include('Your message had 1 word')
    // The first run leaves a marker of each file of dist that it has loaded.
    const markers = readdirSync(join(env.XDG_CACHE_HOME, 'chatctl', 'cache'))
    const loaded = markers.map((name) => name.replace(/-[0-9a-f]{16}-.*/, ''))
    expect(loaded).to.include.members(['chat', 'service', 'exchange'])
    for (const name of ['http', 'http-server', 'conf']) expect(loaded).not.to.include(name)
  })
})
