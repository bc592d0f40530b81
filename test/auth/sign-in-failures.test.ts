import { expect } from 'chai'
import {
  type AuthorizationServer,
  refusing,
  startAuthorizationServer,
} from '../support/authorization-server.ts'
import { expectNothingStored } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { createFakeBrowser, type Login, startLogin } from '../support/login-process.ts'
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
import { loginFlags } from '../support/sign-in.ts'
import { type FinalPage, signInByHttp } from '../support/sign-in-by-http.ts'

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

  const ofTokenEndpoint: [
    string,
    number,
    (server: AuthorizationServer) => Behavior,
    ...(string | RegExp)[],
  ][] = [
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
      await fail(4, [])
      expect(server.tokenRequests).to.deep.equal([])
    })

  it('exits 4 if the service refuses the token', async () => {
    serve = () => false
    await fail(4, [])
    expect(service.requests[0]?.path).to.equal('/api/user/profile')
  })

  const http = 'http://tokens.example/oauth/token'
  const beforeTheBrowser: [string, string[], (document: Record<string, unknown>) => unknown, ...string[]][] =
    [
      ['a token endpoint over plain HTTP', ['--token-url', http], (document) => document, 'tokens.example'],
      [
        'metadata with a token endpoint over plain HTTP',
        [],
        (document) => ({ ...document, token_endpoint: http }),
        'tokens.example',
      ],
      ['no token endpoint', [], () => undefined, '--token-url'],
      ['metadata that are an array', [], () => []],
      [
        'metadata without a token endpoint',
        [],
        (document) => ({ ...document, token_endpoint: undefined }),
        '--token-url',
      ],
      [
        'a token endpoint with an empty first path segment',
        ['--token-url', 'http://127.0.0.1:1//x'],
        (d) => d,
      ],
      [
        'metadata with a list of token endpoints',
        [],
        (document) => ({ ...document, token_endpoint: [document['token_endpoint']] }),
      ],
      ['metadata of another issuer', [], (document) => ({ ...document, issuer: 'https://attacker.example' })],
    ]
  for (const [what, more, metadata, ...words] of beforeTheBrowser)
    it(`exits 2 before the browser opens with ${what}`, async () => {
      server.script.metadata = (document) => metadata(document) as Record<string, unknown> | undefined
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
