import { expect } from 'chai'
import { startAuthorizationServer } from '../support/authorization-server.ts'
import { startBearerService } from '../support/bearer-service.ts'
import { expireCredential, readCredential } from '../support/credential-files.ts'
import type { FaultServer } from '../support/fault-server.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signIn } from '../support/sign-in.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

/** What servers that are in use answer with, beyond what the examples of RFC 6749 show. */
describe('a token answer that is odd but good', () => {
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

  for (const [what, fields] of [
    ['the type in lower case', { token_type: 'bearer' }],
    ['a life as a string', { expires_in: '3600' }],
    ['a life of centuries', { expires_in: 1e13 }],
    ['fields that nobody knows', { x: { y: 1 }, error_description: null }],
    ['a token of 16 kB', { access_token: 'a'.repeat(16_000) }],
  ] as const) {
    it(`holds ${what}`, async () => {
      server.script.token = [server.tokens(fields)]
      await signIn(sandbox, { server, service }, ['--no-verify'])
      const { access_token, expires_at = '' } = readCredential(sandbox)
      expect(server.live).to.include(access_token)
      expect(Date.parse(expires_at) - Date.now()).to.be.above(3_500_000)
    })
  }

  it('holds a life of nothing: it is refreshed for every command, and not without end', async () => {
    server.script.token = [server.tokens({ expires_in: 0 })]
    await signIn(sandbox, { server, service }, [])
    expect(await runChatctl(sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.have.length(1)
  })

  it('holds an ID token, which is nobody’s business here', async () => {
    const openId = await startAuthorizationServer()
    const house = await startBearerService((token) => openId.isLive(token))
    await signIn(sandbox, { server: openId, service: house }, ['--scope', 'openid chat:write'])
    expect(readCredential(sandbox).scope).to.equal('openid chat:write')
    expireCredential(sandbox)
    const { exitCode, stderr } = await runChatctl(sandbox, ['chat', 'models'])
    expect(exitCode, stderr).to.equal(0)
    expect(openId.count('refresh_token')).to.equal(1)
    await openId.close()
    await house.close()
  })
})
