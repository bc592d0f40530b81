import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { json, startFaultServer } from '../support/fault-server.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

/** Without `doctor`, which reports what it finds, and `history export`, which keeps pages on disk. */
const calls = serviceCalls.filter(({ name }) => name !== 'doctor' && name !== 'history:export')

describe('with the address and the key in the environment', () => {
  const server = perSuite(() =>
    startFaultServer({
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

  it('an invalid configuration file is not read by any command that talks to the service', async () => {
    breakConfiguration()
    for (const call of calls) await expectFine(call)
  })

  it('an invalid configuration file still ends a command that names a profile or shows the configuration', async () => {
    breakConfiguration()
    for (const args of [
      ['settings', 'get', '-p', 'work'],
      ['config', 'list'],
      ['config', 'get', 'model'],
      ['auth', 'list'],
    ]) {
      expectFailure(await runChatctl(sandbox, args, { env }), 2, 'is not valid JSON')
    }
    const named = { ...env, CHATCTL_PROFILE: 'work' }
    expectFailure(await runChatctl(sandbox, ['settings', 'get'], { env: named }), 2, 'is not valid JSON')
  })

  it('a HOME in which nothing can be made ends no command', async function () {
    if (process.platform !== 'linux') return this.skip()
    // The kernel says of every path in there that its parent is missing.
    for (const HOME of ['/proc/x', join(process.execPath, 'home'), 'relative']) {
      for (const call of calls.filter(({ name }) =>
        /^(chat:send|settings:(get|api:set)|users:get)$/.test(name),
      )) {
        await expectFine(call, { HOME })
      }
    }
  })
})
