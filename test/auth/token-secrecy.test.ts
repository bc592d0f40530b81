import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expireCredential, findCredentials, readCredential } from '../support/credential-files.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { signIn, storeKey } from '../support/sign-in.ts'

/** Every secret that was sent is searched for in all output and in all files. */
describe('the secrets', () => {
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService(async (token) => token === key || server.isLive(token)))
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  const key = 'canary-API-key'
  const secrets = new Set<string>()
  beforeEach(() => {
    secrets.clear()
    server.grants.length = 0
  })

  /** Collects the tokens that are stored, and the codes and verifiers that were sent. */
  function collect(): void {
    const { access_token, refresh_token, key: stored } = readCredential(sandbox)
    for (const secret of [access_token, refresh_token, stored]) if (secret) secrets.add(secret)
    for (const { params } of server.grants) {
      for (const name of ['code', 'code_verifier', 'refresh_token'])
        if (typeof params[name] === 'string') secrets.add(params[name])
    }
  }

  function expectSilence(runs: readonly Run[]): void {
    expect(secrets.size).to.be.above(0)
    for (const { stdout, stderr } of runs) {
      for (const secret of secrets) {
        expect(stdout, 'stdout').not.to.contain(secret)
        expect(stderr, 'stderr').not.to.contain(secret)
      }
    }
    const credentials = findCredentials(sandbox)
    const files = globSync(['**/*', '.*/**/*'], { cwd: sandbox.home }).map((name) => join(sandbox.home, name))
    for (const file of files.filter((path) => statSync(path).isFile() && !credentials.includes(path))) {
      const bytes = readFileSync(file)
      for (const secret of secrets) expect(bytes.includes(secret), `${file} holds a secret`).to.equal(false)
    }
  }

  for (const form of [[], ['--json']])
    it(`of a sign-in are shown by auth token only, also after a renewal: --debug ${form.join(' ')}`, async () => {
      const run = (...args: string[]) => runChatctl(sandbox, [...args, '--debug', ...form])
      const runs = [await signIn(sandbox, { server, service }, ['--scope', 'chat:write', '--debug', ...form])]
      collect()
      runs.push(await run('chat', 'models'), await run('auth', 'status'), await run('auth', 'list'))
      server.endAccessTokens()
      runs.push(await run('chat', 'models'))
      collect()
      expireCredential(sandbox)
      runs.push(await run('auth', 'status'), await run('doctor'), await run('config', 'list'))
      collect()
      for (const { exitCode, stderr } of runs) expect(exitCode, stderr).to.equal(0)
      const token = await run('auth', 'token')
      expect(token.stdout).to.contain(readCredential(sandbox).access_token)
      runs.push({ ...token, stdout: '' }, await run('auth', 'logout'))
      expectSilence(runs)
    })

  it('of a sign-in with an API key are never shown, whether the key is valid or not', async () => {
    secrets.add(key).add('canary-bad')
    const flags = [
      ...'--with-api-key -p other --base-url'.split(' '),
      service.url,
      '--insecure-storage',
      '--debug',
    ]
    const runs = [
      await storeKey(sandbox, key, service),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\n' }),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\u0007\n' }),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\nX: y\n' }),
      await runChatctl(sandbox, ['auth', 'status', '--debug']),
    ]
    expect(runs.map(({ exitCode }) => exitCode === 0)).to.deep.equal([true, false, false, false, true])
    expectSilence(runs)
  })
})
