import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { Browser } from '../../service/oauth/browser.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createUser, makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, json, startScriptedServer } from '../../support/scripted-server.ts'
import { openPage } from '../../support/sign-in-by-http.ts'
import { until } from '../../support/until.ts'

const person = { email: 'ada@example.com', password: 'correct horse battery' }

describe('signing in to the embedded service', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const service = perSuite(() => serveInProcess(sandbox))
  before(() => createUser(sandbox, service.url, { ...person, role: 'editor' }))

  /** Runs `auth login`, and does everything that the user does in the browser. */
  async function logIn(...flags: string[]) {
    const args = ['--base-url', service.url, '--insecure-storage', '--no-browser', ...flags]
    const login = startLogin(sandbox, args)
    const browser = new Browser()
    const page = await browser.open((await login.address()).href)
    const consent = await browser.submit(page, { ...person, decision: 'allow' })
    await openPage((await browser.submit(consent, { decision: 'allow' })).url)
    return login.ended
  }

  it('needs only the base URL, because the service names itself as its authorization server', async () => {
    const shown = JSON.parse(expectSuccess(await logIn('--profile', 'alone', '--json')).stdout)
    expect(shown).to.include({ profile: 'alone', kind: 'oauth', scope: 'chat:write', verified: true })
    expect(shown.user).to.include({ email: person.email })
    const config = await runChatctl(sandbox, ['config', 'get', 'client_id', '--profile', 'alone'])
    expect(config.stdout).to.equal('chatctl\n')
  })

  it('works with a code in a browser on another device, without a display', async () => {
    const allowed = Promise.withResolvers<void>()
    const clock = { ...systemClock, sleep: () => allowed.promise }
    const args = ['--base-url', service.url, '--insecure-storage', '--profile', 'device']
    const login = startLogin(sandbox, args, { host: { clock, hasDisplay: false } })
    await until(() => /^Enter this code there: .+\n/m.test(login.stderr()))
    const [, code = ''] = /^Enter this code there: (.+)$/m.exec(login.stderr()) ?? []
    const browser = new Browser()
    const entry = await browser.submit(await browser.open(`${service.url}/device`), person)
    const consent = await browser.submit(entry, { user_code: code })
    expect(consent.text).to.include('chatctl/').and.to.include(code)
    await browser.submit(consent, { decision: 'allow' })
    allowed.resolve()
    expect(expectSuccess(await login.ended).stdout).to.include(person.email)
    expectSuccess(await runChatctl(sandbox, ['chat', 'models', '-p', 'device']))
  })

  it('grants only the requested scope, and an error names the missing scope', async () => {
    expect((await logIn('--profile', 'reader', '--scope', 'settings:read')).exitCode).to.equal(0)
    const inProfile = (...args: string[]) => runChatctl(sandbox, [...args, '--profile', 'reader'])
    expect((await inProfile('settings', 'get')).exitCode).to.equal(0)
    const refused = await inProfile('settings', 'set', 'app_name=x')
    expect(refused).to.include({ exitCode: 5 })
    expect(refused.stderr).to.include('write:settings').and.include('with the scope settings:write or admin')
  })

  it('leaves one program after three sign-ins, and none after an API key or a logout', async () => {
    const programs = async () => {
      const listed = await runChatctl(sandbox, ['service', 'sessions', 'list', '--json'])
      const rows: { kind: string; scope: string }[] = JSON.parse(listed.stdout)
      return rows.filter(({ kind, scope }) => kind === 'program' && scope === 'chat:read').length
    }
    const flags = ['--profile', 'again', '--scope', 'chat:read']
    for (const _ of [1, 2, 3]) expect((await logIn(...flags)).exitCode).to.equal(0)
    expect(await programs(), 'after three sign-ins').to.equal(1)
    expect(await runChatctl(sandbox, ['chat', 'models', '-p', 'again'])).to.include({ exitCode: 0 })
    const withKey = ['--with-api-key', '--profile', 'again', '--base-url', service.url, '--insecure-storage']
    const key = await makeKey(sandbox, ['--user', person.email])
    expectSuccess(await runChatctl(sandbox, ['auth', 'login', ...withKey], { stdin: key }))
    expect(await programs(), 'after an API key').to.equal(0)
    await logIn(...flags)
    expect(await programs(), 'after another sign-in').to.equal(1)
    await runChatctl(sandbox, ['config', 'set', 'base_url', 'https://chat.example', '-p', 'again'])
    expect(await runChatctl(sandbox, ['auth', 'logout', '-p', 'again', '--json'])).to.include({ exitCode: 0 })
    expect(await programs(), 'after a move and a logout').to.equal(0)
  })

  it('creates sessions that service sessions revoke ends', async () => {
    await logIn('--profile', 'ended')
    const list = await runChatctl(sandbox, ['service', 'sessions', 'list', '--json'])
    for (const { id } of JSON.parse(list.stdout) as { id: string }[])
      await runChatctl(sandbox, ['service', 'sessions', 'revoke', id, '--yes'])
    expect(await runChatctl(sandbox, ['users', 'profile', '-p', 'ended'])).to.include({ exitCode: 4 })
  })

  const foreign = { issuer: 'https://evil.example', token_endpoint: 'https://evil.example/t' }
  for (const [what, script] of Object.entries({
    'without metadata': failing(404, 'not_found', 'no'),
    'with metadata of another issuer': json(200, foreign),
    'with a server error': failing(500, 'internal_error', 'no'),
    'with the same response for every path': json(200, 'x'),
  }))
    it(`needs --auth-url for a service ${what}`, async () => {
      await using server = await startScriptedServer(script)
      const args = ['--profile', 'other', '--base-url', server.url, '--insecure-storage']
      expectFailure(await startLogin(sandbox, args, { stdin: '' }).ended, 3, '--auth-url')
      const found = server.requests.map(({ path }) => path)
      expect(found).to.deep.equal(['/.well-known/oauth-authorization-server'])
    })
})
