import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, json, startScriptedServer } from '../../support/scripted-server.ts'

describe('chatctl with defaults', () => {
  const sandbox = perTest(createSandbox)

  const local = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  async function remote(behavior: Behavior, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
    await using server = await startScriptedServer(behavior)
    const own = { CHATCTL_BASE_URL: `${server.url}/prefix`, CHATCTL_API_KEY: 'test-key', ...env }
    return await runChatctl(sandbox, args, { env: own })
  }

  it('chat send --continue continues the last embedded conversation, with or without -p local', async () => {
    const first = JSON.parse((await local('chat', 'send', 'a', '--json', '-p', 'local')).stdout)
    const second = JSON.parse((await local('chat', 'send', 'b', '--json')).stdout)
    expect(second.context_id).not.to.equal(first.context_id)
    const third = JSON.parse((await local('chat', 'send', 'c', '--json', '--continue', '-p', 'local')).stdout)
    expect(third.context_id).to.equal(second.context_id)
  })

  it('users create checks for a credential before it prompts for a password', async () => {
    const { exitCode, stderr } = await runChatctl(sandbox, ['users', 'create', '--email', 'a@example.com'], {
      env: { CHATCTL_BASE_URL: 'http://127.0.0.1:1' },
    })
    expect(exitCode, stderr).to.equal(4)
  })

  it('--jq overrides CHATCTL_OUTPUT=yaml, but conflicts with -o yaml', async () => {
    const models = json(200, { data: [{ id: 'm' }] })
    const env = { CHATCTL_OUTPUT: 'yaml' }
    expect((await remote(models, ['chat', 'models', '--jq', '.data[0].id'], env)).stdout).to.equal('m\n')
    expect((await remote(models, ['chat', 'models', '--jq', '.', '-o', 'yaml'])).exitCode).to.equal(2)
  })

  it('api rejects --include with an output format before it sends anything', async () => {
    await using server = await startScriptedServer(json(200, { a: 1 }))
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
    const words = ['api', '/v1/x', '--include']
    for (const [more, variables] of [
      [['--json'], {}],
      [['--jq', '.a'], {}],
      [['-o', 'yaml'], {}],
      [[], { CHATCTL_OUTPUT: 'json' }],
    ] as const) {
      const run = await runChatctl(sandbox, [...words, ...more], { env: { ...env, ...variables } })
      expect(run, run.stderr).to.include({ exitCode: 2, stdout: '' })
      expect(run.stderr).to.contain('--include prints headers as text')
    }
    expect(server.requests).to.deep.equal([])
  })

  it('settings get exits 1 for a setting that the response lacks, and 2 for an unknown setting', async () => {
    const left = await remote(json(200, { app_name: 'a' }), ['settings', 'get', 'limits.max_tokens'])
    expect(left.exitCode).to.equal(1)
    expect(left.stderr).to.contain('does not contain limits.max_tokens')
  })
})
