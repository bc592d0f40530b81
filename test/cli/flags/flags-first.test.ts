import { expect } from 'chai'
import { json, startFaultServer } from '../../support/fault-server.ts'
import { perSuite } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('global flags before the command', () => {
  const sandbox = perSuite(createSandbox)

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('have the same effect as after the command', async () => {
    const server = await startFaultServer(json(200, { data: [{ id: 'm', created: 1 }] }))
    try {
      const env = { CHATCTL_API_KEY: 'some-key' }
      const models = (...flags: string[]) => runChatctl(sandbox, [...flags, 'chat', 'models'], { env })
      for (const address of [['--base-url', server.url], [`--base-url=${server.url}`]]) {
        const { exitCode, stdout } = await models(...address, '-q', '--fields', 'id', '-qo', 'json')
        expect({ exitCode, stdout }).to.deep.equal({
          exitCode: 0,
          stdout: '[\n  {\n    "id": "m"\n  }\n]\n',
        })
      }
    } finally {
      await server.close()
    }
  })

  it('are allowed before --help and help', async () => {
    expect(await run('--no-color', '--help')).to.deep.equal(await run('--help'))
    expect(await run('-p', 'x', 'users', '--help')).to.deep.equal(await run('users', '--help'))
    expect(await run('-p', 'x', 'help', 'users')).to.deep.equal(await run('help', 'users'))
    expect(await run('-p', 'x', 'help')).to.deep.equal(await run('help'))
  })

  it('are rejected without a command, and command flags are rejected before the command', async () => {
    for (const args of [['--json'], ['-p', 'local'], ['--stream', 'chat', 'send', 'hi'], ['-x', 'chat']]) {
      const { exitCode, stdout, stderr } = await run(...args)
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).to.contain(`There is no command before ${args[0]}`)
    }
  })
})
