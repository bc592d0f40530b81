import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { findAuthorizationServer } from '../../src/auth/authorization-server.ts'
import { requestDeviceCode } from '../../src/auth/device-sign-in.ts'
import { failureOf } from '../client/capture.ts'
import { startAuthorizationServer } from '../support/authorization-server.ts'
import { readCredential, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { createFakeBrowser, startLogin } from '../support/login-process.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { deadUrl, silent, startScriptedServer } from '../support/scripted-server.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import { signInByHttp } from '../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'

describe('the authorization request', () => {
  const server = perSuite(startAuthorizationServer)
  const service = perSuite(() => startBearerService((token) => server.live.has(token)))
  const sandbox = perTest(createSandbox)
  beforeEach(() => {
    server.tokenRequests.length = 0
  })

  /** Signs in, and returns the parameters that the authorization and token endpoints received. */
  async function ask(
    ...more: string[]
  ): Promise<{ asked: URLSearchParams; form: URLSearchParams; run: Run }> {
    const { address, ended } = startLogin(sandbox, [
      ...loginFlags({ server, service }),
      '--no-browser',
      ...more,
    ])
    const { href, searchParams } = await address()
    await signInByHttp(href)
    const run = await ended
    expect(run.exitCode, run.stderr).to.equal(0)
    const [form = new URLSearchParams()] = server.tokenRequests
    return { asked: searchParams, form, run }
  }

  it('has the parameters of RFC 6749 and RFC 7636, each once, and no others', async () => {
    const { asked, form } = await ask('--scope', 'chat:write files+all https://x.example/a%20b')
    expect([...asked.keys()].sort()).to.deep.equal(
      'client_id code_challenge code_challenge_method redirect_uri response_type scope state'.split(' '),
    )
    expect(asked.get('client_id')).to.equal(server.clientId)
    expect(asked.get('response_type')).to.equal('code')
    expect(asked.get('scope')).to.equal('chat:write files+all https://x.example/a%20b')
    expect(asked.get('state')).to.match(/^[\w-]{43,}$/)
    expect(asked.get('code_challenge_method')).to.equal('S256')
    expect(asked.get('redirect_uri')).to.match(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    const verifier = form.get('code_verifier') ?? ''
    expect(verifier).to.match(/^[\w.~-]{43,128}$/)
    expect(createHash('sha256').update(verifier).digest('base64url')).to.equal(asked.get('code_challenge'))
    expect(Object.fromEntries(form)).to.deep.equal({
      grant_type: 'authorization_code',
      client_id: server.clientId,
      code: `code-${server.authorizations.length}`,
      code_verifier: verifier,
      redirect_uri: asked.get('redirect_uri'),
    })
  })

  it('has no scope by default, and the result shows the scope that the server grants', async () => {
    server.script.token = [server.tokens({ scope: 'all' }), server.tokens()]
    const { asked, run } = await ask('--json')
    expect(asked.has('scope')).to.equal(false)
    expect(JSON.parse(run.stdout).scope).to.equal('all')
  })

  it('has no code challenge with --no-pkce, and the token request has no code verifier', async () => {
    const { asked, form } = await ask('--no-pkce')
    expect([...asked.keys()].filter((key) => key.startsWith('code_'))).to.deep.equal([])
    expect(form.has('code_verifier')).to.equal(false)
  })

  it('names the first port of --redirect-port that is free', async () => {
    const taken = await startScriptedServer(silent)
    const ports = [taken.url, await deadUrl()].map((url) => new URL(url).port)
    const { asked } = await ask('--redirect-port', ports.join(','))
    expect(asked.get('redirect_uri')).to.equal(`http://127.0.0.1:${ports[1]}/callback`)
    const none = startLogin(sandbox, [
      ...loginFlags({ server, service }, 'other'),
      '--no-browser',
      '--redirect-port',
      ports[0] ?? '',
    ])
    const { exitCode, stderr } = await none.ended
    await taken.close()
    expect(exitCode).to.equal(2)
    expect(stderr).to.contain(ports[0])
  })

  it('has the path of --redirect-path', async () => {
    const { asked } = await ask('--redirect-path', '/oauth/done')
    expect(new URL(asked.get('redirect_uri') ?? '').pathname).to.equal('/oauth/done')
  })

  it('has the address of --redirect-host ::1', async function () {
    if (!(await hasIPv6())) return this.skip()
    const { asked } = await ask('--redirect-host', '::1')
    expect(asked.get('redirect_uri')).to.match(/^http:\/\/\[::1\]:\d+\/callback$/)
  })

  for (const [flag, value] of [
    ['--redirect-host', '0.0.0.0'],
    ['--redirect-host', 'localhost'],
    ['--redirect-port', '0x50'],
    ['--redirect-port', '65536'],
    ['--redirect-port', '8000,,8001'],
    ['--redirect-path', 'callback'],
    ['--redirect-path', '/a?b=c'],
    ['--wait', 'soon'],
    ['--auth-url', 'http://login.example'],
    ['--auth-url', 'ftp://login.example'],
  ] as const)
    it(`is not made with ${flag} ${value}: exit 2`, async () => {
      const browser = createFakeBrowser(sandbox)
      const flags = loginFlags({ server, service })
      const given = flags.indexOf(flag)
      if (given < 0) flags.push(flag, value)
      else flags[given + 1] = value
      const { exitCode, stderr } = await startLogin(sandbox, flags, { stdin: '', env: browser.env }).ended
      expect(exitCode, stderr).to.equal(2)
      expect(stderr).to.contain(flag).and.not.to.contain('once')
      expect(browser.wasOpened()).to.equal(false)
    })

  it('finds the metadata of an issuer with a path where RFC 8414 section 3.1 puts it', async () => {
    await using tenant = await startAuthorizationServer({ tenant: '/tenant' })
    await using house = await startBearerService((token) => tenant.live.has(token))
    await signIn(sandbox, { server: tenant, service: house }, [])
    expect(tenant.authorizations).to.have.length(1)
  })

  it('uses the metadata of OpenID Connect if the server has no OAuth metadata', async () => {
    await using openId = await startAuthorizationServer()
    openId.script.metadataPath = '/.well-known/openid-configuration'
    await using house = await startBearerService((token) => openId.live.has(token))
    await signIn(sandbox, { server: openId, service: house }, [])
    expect(openId.tokenRequests).to.have.length(1)
  })

  it('needs no metadata with --token-url', async () => {
    await using bare = await startAuthorizationServer()
    bare.script.metadata = () => undefined
    await using house = await startBearerService((token) => bare.live.has(token))
    await signIn(sandbox, { server: bare, service: house }, ['--token-url', `${bare.url}/oauth/token`])
    expect(bare.tokenRequests).to.have.length(1)
  })
})

async function hasIPv6(): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(0, '::1')
    await once(probe, 'listening')
    return true
  } catch {
    return false
  } finally {
    probe.close()
  }
}

describe('the URL of an OAuth endpoint', () => {
  const world = makeSignInWorld()

  const setTokenUrl = (url: string) =>
    runChatctl(world.sandbox, ['config', 'set', 'token_url', url, '-p', 'work'])

  for (const url of 'invalid http://example.com/t https://example.com/t#f https://a:b@example.com/t'.split(
    ' ',
  ))
    it(`is not stored as token_url if it is unusable: ${url}`, async () => {
      expectFailure(await setTokenUrl(url), 2, 'token_url')
      expect(readProfiles(world.sandbox).profiles ?? {}).to.deep.equal({})
    })

  it('is stored with its query', async () => {
    const url = 'https://example.com/t?tenant=1'
    expect(await setTokenUrl(url)).to.include({ exitCode: 0 })
    expect(readProfiles(world.sandbox).profiles?.['work']).to.deep.equal({ token_url: url })
  })

  for (const [what, revocationEndpoint] of [
    ['null', null],
    ['plain HTTP', 'http://example.com/revoke'],
    ['a number', 12],
  ] as const)
    it(`is ignored if the revocation endpoint in the metadata is ${what}`, async () => {
      world.server.script.metadata = (document) => ({ ...document, revocation_endpoint: revocationEndpoint })
      await signIn(world.sandbox, world)
      expect(readCredential(world.sandbox)).not.to.have.property('revocation_endpoint')
      expect(await runChatctl(world.sandbox, ['auth', 'logout'])).to.include({ exitCode: 0 })
      expect(world.server.revocations).to.deep.equal([])
    })

  it('is the documented path for authorization if the metadata name none', async () => {
    world.server.script.metadata = (document) => ({ ...document, authorization_endpoint: undefined })
    await signIn(world.sandbox, world)
    expect(world.server.authorizations).to.have.length(1)
  })

  const named = 'The authorization endpoint'
  for (const [what, endpoint, words] of [
    ['plain HTTP', 'http://login.example/authorize', 'http://login.example'],
    ['another scheme', 'file:///etc/passwd', named],
    ['one with a fragment', 'https://login.example/authorize#part', named],
    ['one with a password', 'https://user:secret@login.example/authorize', named],
    ['a number', 12, named],
  ] as const)
    it(`is refused before the browser opens if the metadata name ${what} for authorization: exit 2`, async () => {
      world.server.script.metadata = (document) => ({ ...document, authorization_endpoint: endpoint })
      const run = await startLogin(world.sandbox, [...loginFlags(world), '--no-browser'], { stdin: '' }).ended
      expectFailure(run, 2, words)
      expect(run.stderr).not.to.match(/open this URL|secret/)
      expect(world.server.authorizations).to.deep.equal([])
    })
})

const issuer = 'https://login.example'
const plain = 'http://127.0.0.1:631/printers'

/** What the server with this issuer names in its metadata. */
function find(named: object, from = issuer) {
  const endpoints = { authorization_endpoint: `${from}/authorize`, token_endpoint: `${from}/token` }
  return findAuthorizationServer(from, undefined, async () =>
    Response.json({ issuer: from, ...endpoints, ...named }),
  )
}

describe('an authorization server on another machine', () => {
  for (const [endpoint, words] of [
    ['token_endpoint', 'token endpoint'],
    ['authorization_endpoint', 'authorization endpoint in the metadata'],
  ] as const)
    it(`cannot name a program of this machine as its ${words}`, async () => {
      const failure = await failureOf(find({ [endpoint]: plain }))
      expect(failure.kind).to.equal('refused')
      expect(failure.message).to.equal(
        `${issuer} names a program of this machine as its ${words}: http://127.0.0.1:631`,
      )
    })

  it('cannot name a program of this machine for the end of a sign-in, or for codes', async () => {
    const found = await find({ revocation_endpoint: plain, device_authorization_endpoint: plain })
    expect(found).to.deep.include({ revocationEndpoint: undefined, deviceAuthorizationEndpoint: undefined })
  })

  it('cannot open an address of a program of this machine in the browser', async () => {
    const code = { device_code: 'd', user_code: 'ABCD', expires_in: 60, verification_uri: plain }
    const request = requestDeviceCode(
      await find({}),
      `${issuer}/device`,
      { clientId: 'chatctl', scope: undefined },
      async () => Response.json(code),
    )
    expect((await failureOf(request)).message).to.contain('sent an unsafe address for the browser')
  })
})

describe('an authorization server on this machine', () => {
  for (const from of ['http://127.0.0.1:8787', 'https://localhost:8787'])
    it(`can name plain endpoints on it: ${from}`, async () =>
      expect(await find({ token_endpoint: plain }, from)).to.deep.include({ tokenEndpoint: plain }))
})
