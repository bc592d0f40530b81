import { expect } from 'chai'
import { json, startFaultServer } from '../support/fault-server.ts'
import { perSuite } from '../support/lifetime.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('shared flags before the command', () => {
  const sandbox = perSuite(createSandbox)

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('do what they do behind it', async () => {
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

  it('leave to arguments and to flags behind the command what is theirs', async () => {
    const { stdout } = await run('-p', 'local', '--json', 'chat', 'send', '--dry-run', '--', '-p')
    expect(JSON.parse(stdout).body.message).to.equal('-p')
  })

  it('may stand before a question for help', async () => {
    expect(await run('--no-color', '--help')).to.deep.equal(await run('--help'))
    expect(await run('-p', 'x', 'users', '--help')).to.deep.equal(await run('users', '--help'))
    expect(await run('-p', 'x', 'help', 'users')).to.deep.equal(await run('help', 'users'))
    expect(await run('-p', 'x', 'help')).to.deep.equal(await run('help'))
  })

  it('need a command, and no other flag may stand there', async () => {
    for (const args of [['--json'], ['-p', 'local'], ['--stream', 'chat', 'send', 'hi'], ['-x', 'chat']]) {
      const { exitCode, stdout, stderr } = await run(...args)
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).to.contain(`There is no command before ${args[0]}`)
    }
  })
})
