import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { startScriptedServer } from '../support/scripted-server.ts'

const canary = 'canary-of-the-wrong-place'

describe('a secret in the wrong place', () => {
  const sandbox = perSuite(createSandbox)

  for (const args of [
    ['users', 'profile', `--api-key=${canary}`],
    ['users', 'profile', '--api-key', canary],
    ['auth', 'login', '--with-api-key', canary],
    ['auth', 'login', `--with-api-key=${canary}`],
    [`--api-key=${canary}`, 'users', 'profile'],
    ['--api-key', canary, 'users', 'profile'],
  ])
    it(`is not printed as the value of a flag that does not take it: ${args.slice(0, 3).join(' ')}`, async () => {
      for (const form of [[], ['--json'], ['--debug']]) {
        const { exitCode, stdout, stderr } = await runChatctl(sandbox, [...args, ...form])
        expect(exitCode, stderr).to.equal(2)
        expect(stdout + stderr).not.to.contain(canary)
      }
    })

  for (const args of [
    ['settings', 'update', `api_key=${canary}`],
    ['settings', 'update', 'api_key', canary],
    ['settings', 'update', `app_name=sk-${canary}`],
    ['settings', 'set', 'api_key', canary],
    ['settings', 'set', `api_key:${canary}`],
    ['settings', 'set', 'app_nam', `sk-${canary}`],
    ['settings', 'set', `app_nam=sk-${canary}`],
    ['settings', 'set', `theme=sk-${canary}`],
    ['config', 'add', `api_key=${canary}`],
    ['service', 'run', '--model-server-key', canary],
    ['service', 'run', `--model-server-key=${canary}`],
    ['auth', `eyJhbGciOiJIUzI1NiJ9.${canary}`],
  ])
    it(`is not printed in a hint: ${args.join(' ').replace(canary, 'SECRET')}`, async () => {
      for (const form of [[], ['--json']]) {
        const { exitCode, stdout, stderr } = await runChatctl(sandbox, [...args, ...form])
        expect(exitCode, stderr).to.equal(2)
        expect(stdout + stderr).not.to.contain(canary)
      }
    })

  describe('in the URL of a proxy', () => {
    const proxy = perSuite(() =>
      startScriptedServer(({ headers }, _, { socket }) => {
        const said = headers['proxy-authorization'] ?? ''
        socket.end(`HTTP/1.1 407 ${said}\r\nx-said: ${said}\r\ncontent-length: 0\r\n\r\n`)
      }),
    )

    const forms = [Buffer.from(`me:${canary}`).toString('base64'), canary]
    for (const [what, portOf] of [
      ['refuses', () => new URL(proxy.url).port],
      ['is not there', () => '1'],
    ] as const)
      it(`is not printed if the proxy ${what}`, async () => {
        for (const form of [['--debug'], ['--debug', '--json']]) {
          const { exitCode, stdout, stderr } = await runChatctl(
            sandbox,
            ['users', 'profile', '--retries', '0', ...form],
            {
              env: {
                CHATCTL_BASE_URL: 'https://chat.example',
                CHATCTL_API_KEY: 'k',
                HTTPS_PROXY: `http://me:${canary}@127.0.0.1:${portOf()}`,
              },
            },
          )
          expect(exitCode, stderr).to.equal(69)
          for (const secret of forms) expect(stdout + stderr).not.to.contain(secret)
        }
      })
  })
})
