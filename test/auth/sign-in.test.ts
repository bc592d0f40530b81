import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { signIn as signInThrough } from '../../src/auth/sign-in.ts'
import { systemClock } from '../../src/system/clock.ts'
import { findCredentials, readCredential, readProfiles } from '../support/credential-files.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { createFakeBrowser, startLogin } from '../support/login-process.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { type RunOptions, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import { agreeByHttp, openPage, openStartPage, signInByHttp } from '../support/sign-in-by-http.ts'
import { until } from '../support/until.ts'

const scope = ['--scope', 'chat:write']

describe('auth login', () => {
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService((token) => server.isLive(token)))
  const sandbox = perTest(createSandbox)
  beforeEach(() => {
    service.requests.length = 0
  })

  const login = (more: string[], options?: RunOptions) =>
    startLogin(sandbox, [...loginFlags({ server, service }), ...scope, ...more], options)
  const run = (...args: string[]) => runChatctl(sandbox, args)

  it('opens the browser at the URL that it prints, and the browser shows that the sign-in succeeded', async () => {
    const browser = createFakeBrowser(sandbox)
    const { address, ended } = login([], { stdin: '', env: browser.env })
    const opened = await browser.opened()
    expect(opened).to.equal((await address()).href)
    const page = await signInByHttp(opened)
    expect(page).to.include({ status: 200 })
    expect(page.headers.get('content-type')).to.match(/^text\/html; ?charset=utf-8$/i)
    expect(page.text).to.contain('<title>Signed in')
    expect(await ended).to.include({ exitCode: 0 })
  })

  it('stores a profile and a token that all commands use', async () => {
    const { stdout } = await signIn(sandbox, { server, service }, [...scope, '--json'])
    const { expires_at, ...result } = JSON.parse(stdout)
    expect(result).to.deep.equal({
      profile: 'work',
      base_url: service.url,
      kind: 'oauth',
      storage: 'file',
      verified: true,
      scope: 'chat:write',
      user: { id: 'u1', email: 'ada@example.com', name: 'Ada' },
    })
    expect(new Date(expires_at).toISOString()).to.equal(expires_at)
    expect(Date.parse(expires_at) - Date.now()).to.be.within(3_500_000, 3_600_000)
    expect(await run('chat', 'models')).to.deep.include({ exitCode: 0, stderr: '' })
    const { access_token = '' } = readCredential(sandbox)
    expect(new Set(tokensSeen(service))).to.deep.equal(new Set([access_token]))
    expect((await run('auth', 'token')).stdout).to.equal(`${access_token}\n`)
    expect(readProfiles(sandbox)).to.deep.include({ default_profile: 'work' })
    expect(readProfiles(sandbox).profiles?.['work']).to.include({
      base_url: service.url,
      auth_url: server.url,
      client_id: server.clientId,
      scope: 'chat:write',
    })
  })

  it('has its result shown by auth status', async () => {
    await signIn(sandbox, { server, service }, scope)
    expect(JSON.parse((await run('auth', 'status', '--json')).stdout)).to.deep.include({
      profile: 'work',
      base_url: service.url,
      service: 'remote',
      kind: 'oauth',
      storage: 'file',
      scope: 'chat:write',
      verified: true,
      user: { id: 'u1', email: 'ada@example.com', name: 'Ada' },
    })
  })

  it('stores the token for its owner only', async function () {
    if (process.platform === 'win32') return this.skip()
    await signIn(sandbox, { server, service }, scope)
    const [path = ''] = findCredentials(sandbox)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(statSync(dirname(path)).mode & 0o777).to.equal(0o700)
  })

  it('opens no browser with --no-browser, and ends although stdin is open', async () => {
    const browser = createFakeBrowser(sandbox)
    await signIn(sandbox, { server, service }, scope, { env: browser.env })
    expect(browser.wasOpened()).to.equal(false)
  })

  it('reports that no browser could be opened, and prints a URL for a browser on any machine', async () => {
    const { address, stderr, ended } = login([], { stdin: '', env: { BROWSER: '/nowhere/browser' } })
    await until(() => stderr().includes('Cannot open a browser'))
    await until(async () => (await address()).searchParams.has('client_id'))
    await signInByHttp((await address()).href)
    expect(await ended).to.include({ exitCode: 0 })
  })

  it('does not report a failed launcher if the browser has opened the start page', async () => {
    const shown: string[] = []
    await signInThrough(
      {
        authUrl: server.url,
        tokenUrl: undefined,
        clientId: server.clientId,
        scope: 'chat:write',
        pkce: true,
        redirect: { host: '127.0.0.1', ports: [0], path: '/callback' },
        wait: 10_000,
        transport: { timeout: 10_000, retries: 0, signal: new AbortController().signal, clock: systemClock },
        openBrowser: async (startUrl) => {
          const { authorizationUrl, cookie } = await openStartPage(startUrl)
          void agreeByHttp(authorizationUrl).then((redirect) => openPage(redirect, cookie))
          return false
        },
        onAddress: async (_, browser) => void shown.push(browser),
        onIgnored: () => {},
        pasted: async function* () {},
      },
      async () => {},
    )
    expect(shown).to.deep.equal(['opening'])
  })

  it('accepts a pasted URL if no browser could be opened', async () => {
    const { address, paste, ended } = login([], { env: { BROWSER: '/nowhere/browser' } })
    await until(async () => (await address()).searchParams.has('client_id'))
    paste(await agreeByHttp((await address()).href))
    expect(await ended).to.include({ exitCode: 0 })
  })

  it('accepts a pasted callback URL after other input, with white space around it', async () => {
    const { address, paste, ended } = login(['--no-browser'])
    const redirect = await agreeByHttp((await address()).href)
    paste('what is this?')
    paste('')
    paste(`  ${redirect} \r`)
    expect(await ended).to.include({ exitCode: 0 })
    expect(readCredential(sandbox).kind).to.equal('oauth')
  })

  it('prints the URL as a notice with --json, and also with --quiet', async () => {
    const { stderr } = await signIn(sandbox, { server, service }, [...scope, '--json'])
    const [notice] = stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).notice)
      .filter((one) => one?.url)
    expect(notice.url).to.match(new RegExp(`^${server.url}/oauth/authorize\\?`))
    expect(notice.message).to.be.a('string')
    const quiet = await signIn(sandbox, { server, service }, [...scope, '--quiet'])
    expect(quiet.stderr).to.contain(`${server.url}/oauth/authorize?`)
  })

  it('sends no request to the service with --no-verify', async () => {
    const { stdout } = await signIn(sandbox, { server, service }, [...scope, '--no-verify', '--json'])
    expect(JSON.parse(stdout)).to.include({ verified: false }).and.not.to.have.property('user')
    expect(service.requests).to.deep.equal([])
  })

  it('reads all flags of a sign-in from the environment too', async () => {
    const env = {
      CHATCTL_AUTH_URL: server.url,
      CHATCTL_CLIENT_ID: server.clientId,
      CHATCTL_TOKEN_URL: `${server.url}/oauth/token`,
      CHATCTL_SCOPE: 'chat:write',
      CHATCTL_REDIRECT_HOST: '127.0.0.1',
      CHATCTL_REDIRECT_PATH: '/oauth/done',
    }
    const flags = ['-p', 'work', '--base-url', service.url, '--insecure-storage', '--no-browser']
    const { address, ended } = startLogin(sandbox, flags, { env })
    expect(new URL((await signInByHttp((await address()).href)).url).pathname).to.equal('/oauth/done')
    expect(await ended).to.include({ exitCode: 0 })
  })

  it('needs no flags the second time', async () => {
    await signIn(sandbox, { server, service }, scope)
    const before = readCredential(sandbox).access_token
    const { address, ended } = startLogin(sandbox, ['--no-browser', '--insecure-storage'])
    await signInByHttp((await address()).href)
    expect(await ended).to.include({ exitCode: 0 })
    expect(readCredential(sandbox).access_token).to.be.a('string').and.not.equal(before)
  })
})
