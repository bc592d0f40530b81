import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { signIn as signInThrough } from '../../src/auth/sign-in.ts'
import { systemClock } from '../../src/system/clock.ts'
import {
  type AuthorizationServer,
  refusing,
  startAuthorizationServer,
} from '../support/authorization-server.ts'
import {
  expectNothingStored,
  findCredentials,
  readCredential,
  readProfiles,
} from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { createFakeBrowser, type Login, startLogin } from '../support/login-process.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { type RunOptions, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  answer,
  type Behavior,
  deadUrl,
  garbage,
  redirect,
  reset,
  silent,
  startScriptedServer,
  webPage,
} from '../support/scripted-server.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import {
  agreeByHttp,
  type FinalPage,
  openPage,
  openStartPage,
  signInByHttp,
} from '../support/sign-in-by-http.ts'
import { until } from '../support/until.ts'

const onPosix = process.platform === 'win32' ? it.skip : it

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

  onPosix('stores the token for its owner only', async () => {
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

const canaries = ['code-1', 'canary']

/** After each of these nothing is stored, and the browser shows that the sign-in failed. */
describe('auth login', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => serve(token)))
  let serve: (token: string) => boolean
  beforeEach(() => {
    serve = (token) => server.live.has(token)
  })
  afterEach(() => expectNothingStored(sandbox))

  const start = (...more: string[]): Login =>
    startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser', ...more])

  /** Agrees in the browser, and expects the failure in the terminal and in the browser. */
  async function fail(exitCode: number, words: (string | RegExp)[], ...more: string[]): Promise<FinalPage> {
    const { address, ended } = start(...more)
    const page = await signInByHttp((await address()).href)
    const run = await ended
    expectFailure(run, exitCode, ...words)
    for (const canary of canaries) expect(run.stderr).not.to.contain(canary)
    expect(page.text).to.contain('<title>Not signed in')
    return page
  }

  type Responding = (server: AuthorizationServer) => Behavior
  const ofTokenEndpoint: [string, number, Responding, ...(string | RegExp)[]][] = [
    ['a web page', 1, () => webPage],
    ['a body that is not JSON', 1, () => garbage],
    ['500', 69, () => answer(500, { 'content-type': 'text/html' }, '<h1>canary</h1>'), '500'],
    ['a reset connection', 69, () => reset],
    ['a line break in the token', 1, ({ tokens }) => tokens({ access_token: 'canary\r\nX-Canary: 1' })],
    ['no access_token', 1, ({ tokens }) => tokens({ access_token: undefined })],
    ['a number for a token', 1, ({ tokens }) => tokens({ access_token: 12 })],
    ['token_type mac', 1, ({ tokens }) => tokens({ token_type: 'mac' })],
    ['expires_in that is not a number', 1, ({ tokens }) => tokens({ expires_in: 'canary' })],
    ['400 with an empty body', 4, () => answer(400), ' failed: ', '400'],
    ['401 with a page', 4, () => answer(401, { 'content-type': 'text/html' }, '<h1>canary</h1>'), '401'],
    ['invalid_grant', 4, () => refusing('invalid_grant', 'The verifier is wrong'), 'The verifier is wrong'],
  ]
  for (const [what, exitCode, behave, ...words] of ofTokenEndpoint)
    it(`exits ${exitCode} if the token endpoint responds with ${what}`, async () => {
      server.script.token = [behave(server)]
      await fail(exitCode, words)
      expect(server.tokenRequests, 'a code is good for one attempt').to.have.length(1)
      expect(service.requests).to.deep.equal([])
    })

  for (const status of [302, 307, 308])
    it(`exits 1 if the token endpoint redirects with ${status}, and sends code and verifier nowhere else`, async () => {
      await using elsewhere = await startScriptedServer(server.tokens())
      server.script.token = [redirect(status, `${elsewhere.url}/token`)]
      await fail(1, [/redirect/i])
      expect(elsewhere.requests).to.deep.equal([])
    })

  it('exits 1 if the token endpoint redirects within its origin, and does not send the code again', async () => {
    server.script.token = [redirect(307, '/oauth/token?moved=1'), server.tokens()]
    await fail(1, [/redirect/i])
    expect(server.tokenRequests).to.have.length(1)
  })

  it('exits 69 if the token endpoint does not respond within --timeout', async () => {
    server.script.token = [silent]
    await fail(69, [/1 ?s|time/i], '--timeout', '1s')
  })

  it('exits 69 if the token endpoint is unreachable', async () =>
    fail(69, [], '--token-url', `${await deadUrl()}/oauth/token`))

  it('exits 4 with the message of the server if the user declines', async () => {
    server.script.redirectBack = (query) => {
      query.delete('code')
      query.set('error', 'access_denied')
      query.set('error_description', 'Ada said <b>no</b>')
    }
    expect((await fail(4, ['Ada said <b>no</b>'])).text).not.to.contain('<b>no')
    expect(server.tokenRequests).to.deep.equal([])
  })

  for (const [what, metadata] of [
    ['the iss of another issuer', (query: URLSearchParams) => query.set('iss', 'https://attacker.example')],
    ['no iss although the metadata promise one', (query: URLSearchParams) => query.delete('iss')],
  ] as const)
    it(`exits 4 if the callback has ${what}, and does not redeem the code`, async () => {
      server.script.metadata = (document) => ({
        ...document,
        authorization_response_iss_parameter_supported: true,
      })
      server.script.redirectBack = (query) => {
        query.set('iss', server.url)
        metadata(query)
      }
      await fail(4, ['The response may be forged'])
      expect(server.tokenRequests).to.deep.equal([])
    })

  it('exits 4 if the service refuses the token', async () => {
    serve = () => false
    await fail(4, [])
    expect(service.requests[0]?.path).to.equal('/api/user/profile')
  })

  const http = 'http://tokens.example/oauth/token'
  type Metadata = Record<string, unknown>
  const beforeTheBrowser: [string, string[], (found: Metadata) => unknown, ...string[]][] = [
    ['a token endpoint over plain HTTP', ['--token-url', http], (found) => found, 'tokens.example'],
    ['metadata with such an endpoint', [], (found) => ({ ...found, token_endpoint: http }), 'tokens.example'],
    ['no token endpoint', [], () => undefined, '--token-url'],
    ['metadata that are an array', [], () => []],
    ['metadata without one', [], (found) => ({ ...found, token_endpoint: undefined }), '--token-url'],
    [
      'a token endpoint with an empty first segment',
      ['--token-url', 'http://127.0.0.1:1//x'],
      (found) => found,
    ],
    ['metadata with a list', [], (found) => ({ ...found, token_endpoint: [found['token_endpoint']] })],
    ['metadata of another issuer', [], (found) => ({ ...found, issuer: 'https://attacker.example' })],
  ]
  for (const [what, more, metadata, ...words] of beforeTheBrowser)
    it(`exits 2 before the browser opens with ${what}`, async () => {
      server.script.metadata = (document) => metadata(document) as Metadata | undefined
      const browser = createFakeBrowser(sandbox)
      const flags = [...loginFlags({ server, service }), ...more]
      const run = await startLogin(sandbox, flags, { stdin: '', env: browser.env }).ended
      expectFailure(run, 2, ...words)
      expect(run.stderr).not.to.contain('open this URL')
      expect(browser.wasOpened()).to.equal(false)
    })

  it('exits 3 and names the flag without the address of an authorization server or without a client ID', async () => {
    const flags = ['-p', 'work', '--base-url', service.url, '--insecure-storage', '--no-browser']
    expectFailure(await startLogin(sandbox, flags, { stdin: '' }).ended, 3, '--auth-url')
    const noClient = await startLogin(sandbox, [...flags, '--auth-url', server.url], { stdin: '' }).ended
    expectFailure(noClient, 3, '--client-id')
  })

  it('reports its failure in one line on stderr with --json', async () => {
    server.script.token = [refusing('invalid_grant', 'used up')]
    const { address, ended } = start('--json')
    await signInByHttp((await address()).href)
    const { exitCode, stdout, stderr } = await ended
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 4, stdout: '' })
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')
    expect(error.code).to.be.oneOf(['invalid_grant', 'unauthorized'])
    expect(error.message).to.contain('used up')
  })
})

describe('auth login, while it waits for the browser', () => {
  const server = perSuite(() => startOidcProvider({ requiresPkce: false }))
  const service = perSuite(() => startBearerService((token) => server.isLive(token)))
  const sandbox = perTest(createSandbox)
  afterEach(() => expectNothingStored(sandbox))

  const start = (...more: string[]): Login =>
    startLogin(sandbox, [
      ...loginFlags({ server, service }),
      ...['--scope', 'chat:write', '--no-browser', ...more],
    ])

  it('exits 4 after --wait, and names the likely cause', async () => {
    const { address, ended } = start('--wait', '1s')
    const redirectUri = (await address()).searchParams.get('redirect_uri') ?? ''
    expectFailure(await ended, 4, /redirect/i, redirectUri)
    expect(await listens(redirectUri)).to.equal(false)
  })

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    onPosix(`exits ${exitCode} on ${signal}, and closes the port`, async () => {
      const { address, interrupt, ended } = start()
      const redirectUri = (await address()).searchParams.get('redirect_uri') ?? ''
      expect(await listens(redirectUri)).to.equal(true)
      interrupt(signal)
      const run = await ended
      expect(run).to.include({ exitCode, stdout: '' })
      expect(run.stderr).not.to.match(/This is a bug|^Error:/m)
      expect(await listens(redirectUri)).to.equal(false)
    })

  onPosix('shows in the browser that the sign-in failed after Ctrl-C', async () => {
    await using silence = await startScriptedServer(silent)
    const { address, interrupt, ended } = start(...['--token-url', `${silence.url}/token`])
    const page = signInByHttp((await address()).href)
    while (silence.requests.length === 0) await sleep(10)
    interrupt('SIGINT')
    expect(await ended).to.include({ exitCode: 130, stdout: '' })
    expect((await page).text).to.contain('<title>Not signed in')
  })

  it('exits 4 if the code was already redeemed by someone else', async () => {
    const { address, paste, ended } = start('--no-pkce')
    const { href, searchParams } = await address()
    const redirect = await agreeByHttp(href)
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: server.clientId,
      code: new URL(redirect).searchParams.get('code') ?? '',
      redirect_uri: searchParams.get('redirect_uri') ?? '',
    })
    expect((await fetch(`${server.url}/oauth/token`, { method: 'POST', body })).status).to.equal(200)
    paste(redirect)
    expectFailure(await ended, 4)
    expect(server.count('authorization_code', 'refused')).to.equal(1)
  })
})

/** Whether a server accepts connections at a URL. */
async function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}
