import { expect } from 'chai'
import { startBearerService } from '../support/bearer-service.ts'
import { readCredential, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import type { FaultServer } from '../support/fault-server.ts'
import { startLogin } from '../support/login-process.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

describe('the address of an endpoint', () => {
  let server: TokenEndpoint
  let service: FaultServer
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = createSandbox()
    server = await startTokenEndpoint()
    service = await startBearerService((token) => server.live.has(token))
  })
  afterEach(async () => {
    sandbox.remove()
    await server.close()
    await service.close()
  })

  const setTokenUrl = (url: string) => runChatctl(sandbox, ['config', 'set', 'token_url', url, '-p', 'work'])

  for (const url of [
    'nonsense',
    'http://example.com/t',
    'https://example.com/t#f',
    'https://a:b@example.com/t',
  ]) {
    it(`is not kept as a profile's token_url where it could not be used: ${url}`, async () => {
      expectFailure(await setTokenUrl(url), 2, 'token_url')
      expect(readProfiles(sandbox).profiles ?? {}).to.deep.equal({})
    })
  }

  it('is kept with its query', async () => {
    const url = 'https://example.com/t?tenant=1'
    expect(await setTokenUrl(url)).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles?.['work']).to.deep.equal({ token_url: url })
  })

  for (const [what, revocationEndpoint] of [
    ['null', null],
    ['plain HTTP', 'http://example.com/revoke'],
    ['a number', 12],
  ] as const) {
    it(`does not hinder a sign-in where it is that for revocations, and ${what}`, async () => {
      server.script.metadata = (document) => ({ ...document, revocation_endpoint: revocationEndpoint })
      await signIn(sandbox, { server, service })
      expect(readCredential(sandbox)).not.to.have.property('revocation_endpoint')
      expect(await runChatctl(sandbox, ['auth', 'logout'])).to.include({ exitCode: 0 })
      expect(server.revocations).to.deep.equal([])
    })
  }

  it('is that of the metadata for the browser, with its query', async () => {
    const endpoint = `${server.url}/login?tenant=1`
    server.script.metadata = (document) => ({ ...document, authorization_endpoint: endpoint })
    const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'])
    const address = await login.address()
    login.interrupt('SIGTERM')
    await login.ended
    expect(address.href).to.match(/^http:\/\/127\.0\.0\.1:\d+\/login\?tenant=1&/)
    expect(address.searchParams.get('client_id')).to.equal(server.clientId)
  })

  it('is the documented one for the browser where the metadata names none', async () => {
    server.script.metadata = (document) => ({ ...document, authorization_endpoint: undefined })
    await signIn(sandbox, { server, service })
    expect(server.authorizations).to.have.length(1)
  })

  const named = 'the authorization endpoint'
  for (const [what, endpoint, words] of [
    ['plain HTTP', 'http://login.example/authorize', 'http:// to login.example'],
    ['another scheme', 'file:///etc/passwd', named],
    ['one with a fragment', 'https://login.example/authorize#part', named],
    ['one with a password', 'https://user:secret@login.example/authorize', named],
    ['a number', 12, named],
  ] as const) {
    it(`ends a sign-in before the browser where the metadata names ${what} for it: exit 2`, async () => {
      server.script.metadata = (document) => ({ ...document, authorization_endpoint: endpoint })
      const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'], { stdin: '' })
      const run = await login.ended
      expectFailure(run, 2, words)
      expect(run.stderr).not.to.match(/Open this address|secret/)
      expect(server.authorizations).to.deep.equal([])
    })
  }
})
