import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'

/** Without `doctor`, which reports the configuration, and `history export`, which stores pages on disk. */
const calls = serviceCalls.filter(({ name }) => name !== 'doctor' && name !== 'history:export')

describe('a run with address and key in the environment', () => {
  const server = perSuite(() =>
    startScriptedServer({
      choose: ({ method, path }) => {
        const asked = `${method} ${path.split('?')[0]}`
        return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
      },
    }),
  )
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  let env: NodeJS.ProcessEnv
  beforeEach(() => {
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
  })

  const breakConfiguration = () => {
    mkdirSync(join(sandbox.home, '.config', 'chatctl'), { recursive: true })
    writeFileSync(join(sandbox.home, '.config', 'chatctl', 'config.json'), '{ "profiles": ')
  }

  async function expectFine({ args, stdin = '' }: ServiceCall, more: NodeJS.ProcessEnv = {}): Promise<void> {
    const { exitCode, stderr } = await runChatctl(sandbox, args, { env: { ...env, ...more }, stdin })
    expect(exitCode, `${args.join(' ')}: ${stderr}`).to.equal(0)
    expect(stderr, args.join(' ')).not.to.match(/^Error/m)
  }

  it('does not read an invalid configuration file, for any command that uses the service', async () => {
    breakConfiguration()
    for (const call of calls) await expectFine(call)
  })

  it('succeeds in a HOME in which nothing can be created', async function () {
    if (process.platform !== 'linux') return this.skip()
    // In /proc, the kernel reports the parent of every path as missing.
    for (const HOME of ['/proc/x', join(process.execPath, 'home'), 'relative']) {
      for (const call of calls.filter(({ name }) =>
        /^(chat:send|settings:(get|api:set)|users:get)$/.test(name),
      ))
        await expectFine(call, { HOME })
    }
  })
})
