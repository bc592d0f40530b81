import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { LocalModelServer } from '../../../src/contract/model-server-address.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startModelServer } from '../../support/model-server.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, silent, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

const send = ['chat', 'send', 'hi']

describe('a model server that runs on this machine', () => {
  const sandbox = perTest(createSandbox)
  const server = perSuite(() => startModelServer())
  const ollama = (url = server.url): LocalModelServer => ({ id: url, name: 'Ollama', url })

  /** Runs in a terminal, and types the keys when the question is shown. */
  async function runInTerminal(
    keys: string,
    { args = send, modelServers = [ollama()], env = {} as NodeJS.ProcessEnv, question = /\?/ } = {},
  ) {
    const options = { terminal: { columns: 100 }, host: { modelServers }, env }
    const running = startChatctl(sandbox, args, options)
    if (keys !== '') {
      await until(() => question.test(running.written().stdout))
      running.stdin.write(keys)
    }
    return running.ended
  }

  it('is offered once, and is used from then on if the user agrees', async () => {
    const first = await runInTerminal('\r')
    expect(first.stdout).to.include('Ollama is running here with 3 models. Use it?').and.include('I am m1.')
    const shown = (await runInTerminal('')).stdout
    expect(shown).to.include('I am m1.').and.not.to.include('Use it?')
    expect((await runChatctl(sandbox, send)).stdout).to.equal('I am m1.\n')
  })

  it('is not offered again if the user declines', async () => {
    const first = await runInTerminal('n\r')
    expect(first.stdout).to.include('test program').and.include(`config set model_server=${server.url}`)
    const count = server.requests.length
    const shown = (await runInTerminal('')).stdout
    expect(shown).to.include('test program').and.not.to.include('Use it?')
    expect(server.requests).to.have.lengthOf(count)
    expect((await runChatctl(sandbox, ['config', 'get', 'model_server'])).stdout).to.equal('none\n')
  })

  it('is offered by chat complete too', async () => {
    const { stdout } = await runInTerminal('\r', { args: ['chat', 'complete', 'hi'] })
    expect(stdout).to.include('Use it?').and.to.include('I am m1.')
  })

  it('is offered again in the next run if Ctrl-C ends the question', async () => {
    expect((await runInTerminal('\u0003')).exitCode).to.equal(130)
    expect(existsSync(join(sandbox.home, '.config', 'chatctl', 'config.json'))).to.equal(false)
  })

  it('is used in this run, with a warning, if the choice cannot be stored', async () => {
    writeFileSync(join(sandbox.home, '.config'), 'a file in place of the directory')
    const { stdout } = await runInTerminal('\r')
    expect(stdout.replaceAll(/\s+/g, ' ')).to.include('chatctl will ask again').and.to.include('I am m1.')
  })

  const never: [title: string, args: string[], env?: NodeJS.ProcessEnv][] = [
    ['with --no-input', [...send, '--no-input']],
    ['with --json', [...send, '--json']],
    ['with --quiet', [...send, '--quiet']],
    ['with --dry-run', [...send, '--dry-run']],
    ['if the environment says none', send, { CHATCTL_MODEL_SERVER: 'none' }],
    ['for another service', [...send, '--base-url', 'http://127.0.0.1:1', '--retries', '0']],
    ['by another command', ['chat', 'models']],
  ]
  for (const [title, args, env = {}] of never)
    it(`is not looked for ${title}`, async () => {
      const count = server.requests.length
      expect((await runInTerminal('', { args, env })).stdout).not.to.include('Use it?')
      expect(server.requests).to.have.lengthOf(count)
    })

  it('is not looked for in a pipe', async () => {
    const count = server.requests.length
    const host = { modelServers: [ollama()] }
    expect((await runChatctl(sandbox, send, { host })).stdout).to.include('test program')
    expect(server.requests).to.have.lengthOf(count)
  })

  for (const [title, behavior] of [
    ['responds with something else', json(200, { hello: 'world' })],
    ['has no models', json(200, { object: 'list', data: null })],
    ['responds with an error', json(500, { data: [{ id: 'm' }] })],
    ['does not respond', silent],
  ] as const)
    it(`is not offered if it ${title}`, async () => {
      await using other = await startScriptedServer(behavior)
      const { stdout } = await runInTerminal('', { modelServers: [ollama(`${other.url}/v1`)] })
      expect(stdout).to.include('test program').and.not.to.include('Use it?')
      expect(other.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal(['GET /v1/models'])
    })
})
