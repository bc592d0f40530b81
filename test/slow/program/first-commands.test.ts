import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** Runs the built program, which stores compiled code in the cache directory. */
describe('the first commands on a machine', () => {
  const sandbox = perTest(createSandbox)

  const run = (args: string[], env: NodeJS.ProcessEnv = {}) => runProgram(sandbox, args, { env })

  it('reply from the embedded service, print its data directory once, and store the conversation', async () => {
    const first = await run(['chat', 'send', 'Hello'])
    expect(first.exitCode).to.equal(0)
    expect(first.stdout).to.match(/not an AI.*\n$/)
    expect(first.stderr).to.contain('embedded service')
    expect(first.stderr).to.contain(join(sandbox.home, '.local', 'share', 'chatctl'))
    const second = await run(['chat', 'send', '--continue', 'Again'])
    expect(second.exitCode).to.equal(0)
    expect(second.stderr).to.match(/^Continuing "Hello" \(1 turn, \d+ s ago\)\n$/)
  })

  it('leave nothing in the working directory if HOME is empty, relative, or not set', async () => {
    // Keeps the compiled code out of the tester's own home directory.
    const cache = join(sandbox.home, 'cache')
    for (const home of ['', 'relative', undefined]) {
      const { stdout } = await run(['config', 'path'], { HOME: home, XDG_CACHE_HOME: cache })
      expect(stdout.startsWith('/')).to.equal(true)
      expect(stdout).to.contain(join('.config', 'chatctl', 'config.json'))
      expect(stdout.startsWith(sandbox.home)).to.equal(false)
    }
    expect(readdirSync(sandbox.home)).to.deep.equal(['cache'])
  })

  it('use XDG paths that are absolute, and ignore those that are relative', async () => {
    const xdg = join(sandbox.home, 'xdg')
    const relative = { XDG_CONFIG_HOME: 'a', XDG_DATA_HOME: 'b', XDG_STATE_HOME: './c', XDG_CACHE_HOME: 'd' }
    expect(await run(['chat', 'send', 'hi'], relative)).to.include({ exitCode: 0 })
    expect(readdirSync(sandbox.home).sort()).to.deep.equal(['.cache', '.local'])
    const absolute = { XDG_CONFIG_HOME: xdg, XDG_DATA_HOME: xdg, XDG_STATE_HOME: xdg, XDG_CACHE_HOME: xdg }
    expect(await run(['chat', 'send', 'hi'], absolute)).to.include({ exitCode: 0 })
    expect(await run(['config', 'set', 'model', 'test-program'], absolute)).to.include({ exitCode: 0 })
    expect(readdirSync(join(xdg, 'chatctl')).sort()).to.deep.equal([
      'cache',
      'chatctl.db',
      'config.json',
      'sessions',
      'sessions.order',
    ])
    expect(readdirSync(sandbox.home).sort()).to.deep.equal(['.cache', '.local', 'xdg'])
  })
})
