import { expect } from 'chai'
import { changeCredential, findCredentials, readCredential } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startLogin } from '../support/login-process.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { loginFlags } from '../support/sign-in.ts'
import { openPage } from '../support/sign-in-by-http.ts'
import { signInOnDevice } from '../support/sign-in-on-device.ts'
import { startGlewlwyd } from './glewlwyd.ts'

describe('chatctl with Glewlwyd as its authorization server', () => {
  const ended = new Set<string>()
  const desk = perSuite(createSandbox)
  const server = perSuite(() => startGlewlwyd(desk))
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService((token) => !ended.has(token)))

  const models = () => runChatctl(sandbox, ['chat', 'models', '-p', 'work'])

  async function signIn(more: readonly string[] = []): Promise<Run> {
    const flags = [...loginFlags({ server, service }), '--redirect-port', `${server.redirectPort}`]
    const login = startLogin(sandbox, [...flags, '--scope', 'chat:write', '--no-browser', ...more])
    const callback = await server.agree(await login.address())
    expect((await openPage(callback)).status).to.equal(200)
    return login.ended
  }

  it('signs in with PKCE, at the endpoints that the metadata below the path of the issuer names', async () => {
    expect(await signIn()).to.include({ exitCode: 0 })
    expect(readCredential(sandbox)).to.deep.include({
      issuer: server.url,
      token_endpoint: `${server.url}/token`,
      revocation_endpoint: `${server.url}/revoke`,
      token_type: 'bearer',
      scope: 'chat:write',
    })
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
  })

  it('renews its tokens after a 401, and is signed out if a refresh token is used twice', async () => {
    await signIn()
    const first = readCredential(sandbox)
    ended.add(first.access_token ?? '')
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    const second = readCredential(sandbox)
    expect(second.refresh_token).not.to.equal(first.refresh_token)
    expect(tokensSeen(service).slice(-2)).to.deep.equal([first.access_token, second.access_token])
    // Glewlwyd then takes the tokens for stolen, and ends the sign-in.
    changeCredential(sandbox, first)
    expectFailure(await models(), 4, 'Renewing the sign-in failed')
    changeCredential(sandbox, { ...second, access_token: first.access_token ?? '' })
    expectFailure(await models(), 4, 'auth login')
  })

  it('signs out, and says that Glewlwyd did not confirm the revocation for a client without a secret', async () => {
    await signIn()
    const logout = await runChatctl(sandbox, ['auth', 'logout', '-p', 'work'])
    expect(logout.exitCode, logout.stderr).to.equal(0)
    expect(logout.stderr).to.contain('may still be valid').and.contain('responded 401')
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('is refused by Glewlwyd without PKCE, and stores nothing', async () => {
    const failed = await signIn(['--no-pkce'])
    expectFailure(failed, 4, 'denied the sign-in: invalid_request')
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('signs in with a code that the user enters on another device', async () => {
    const run = await signInOnDevice(sandbox, { server, service }, async (code) => {
      expect(await server.enterCode(code)).to.contain('prompt=deviceComplete')
    })
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    const first = readCredential(sandbox)
    expect(first).to.include({ issuer: server.url, scope: 'chat:write' })
    ended.add(first.access_token ?? '')
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
  })
})
