import { expect } from 'chai'
import { startBearerService } from '../support/bearer-service.ts'
import { readCredential, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import type { FaultServer } from '../support/fault-server.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signIn } from '../support/sign-in.ts'
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
})
