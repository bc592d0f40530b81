import { expect } from 'chai'
import { expectNothingStored, readCredential, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { owner, startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

describe('signing in with an API key', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService((token) => token === 'key-1'))

  const login = (stdin: string, ...more: string[]): Promise<Run> => loginTo(service.url, stdin, ...more)
  const loginTo = (url: string, stdin: string, ...more: string[]): Promise<Run> => {
    const flags = ['--with-api-key', '-p', 'work', '--base-url', url, '--insecure-storage', ...more]
    return runChatctl(sandbox, ['auth', 'login', ...flags], { stdin })
  }

  it('asks the service for the owner of the key, and stores the key', async () => {
    const { exitCode, stdout, stderr } = await login(' key-1 \r\n', '--json')
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({
      profile: 'work',
      base_url: service.url,
      kind: 'api_key',
      storage: 'file',
      verified: true,
      expires_at: null,
      scope: null,
      user: { id: owner.id, email: owner.email, name: owner.name },
    })
    expect(service.requests.map(({ path }) => path)).to.deep.equal(['/api/user/profile'])
    const user = { id: owner.id, email: owner.email }
    expect(readCredential(sandbox)).to.deep.equal({ version: 1, kind: 'api_key', key: 'key-1', user })
    expect(readProfiles(sandbox)).to.deep.include({ default_profile: 'work' })
  })

  it('sends no request with --no-verify', async () => {
    const { exitCode, stdout } = await login('key-2\n', '--no-verify', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ verified: false })
    expect(service.requests).to.deep.equal([])
  })

  for (const [what, stdin, exitCode] of [
    ['a key that the service refuses', 'key-2\n', 4],
    ['a key with a control character', 'key-1\u0007\n', 2],
    ['two lines', 'key-1\nkey-2\n', 2],
  ] as const)
    it(`stores nothing for ${what}`, async () => {
      const run = await login(stdin)
      expectFailure(run, exitCode)
      expect(run.stderr).not.to.match(/key-[12]/)
      expectNothingStored(sandbox)
    })

  it('stores nothing if stdin contains no key', async () => {
    for (const stdin of ['', ' \n']) {
      const { exitCode, stdout } = await login(stdin)
      expect(exitCode).to.be.oneOf([2, 3])
      expect(stdout).to.equal('')
    }
    expectNothingStored(sandbox)
  })

  for (const [status, exitCode] of [
    [403, 5],
    [500, 69],
  ] as const)
    it(`stores nothing if the service responds with ${status}`, async () => {
      await using failingService = await startScriptedServer(failing(status, 'x', 'In its own words'))
      expectFailure(await loginTo(failingService.url, 'key-1\n', '--retries', '0'), exitCode)
      expectNothingStored(sandbox)
    })

  it('stores nothing after Ctrl-C while stdin is open: exit 130', async function () {
    if (process.platform === 'win32') return this.skip()
    const flags = ['--with-api-key', '-p', 'work', '--base-url', service.url, '--insecure-storage']
    const running = startChatctl(sandbox, ['auth', 'login', ...flags])
    running.stdin.write('half of a key')
    await until(() => running.stdin.readableLength === 0)
    running.interrupt()
    expect(await running.ended).to.include({ exitCode: 130, stdout: '' })
    expectNothingStored(sandbox)
  })

  it('exits 2 for a name that a profile cannot have, before it asks for the base URL', async () => {
    const run = await runChatctl(sandbox, ['auth', 'login', '--with-api-key', '-p', 'my profile'])
    expectFailure(run, 2, 'is not a valid profile name')
  })

  it('is refused for the embedded service, which needs no key', async () => {
    const args = ['auth', 'login', '--with-api-key', '-p', 'local', '--insecure-storage']
    expectFailure(await runChatctl(sandbox, args, { stdin: 'key-1\n' }), 2, 'embedded service')
    expectNothingStored(sandbox)
  })
})
