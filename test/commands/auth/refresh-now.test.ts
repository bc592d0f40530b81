import { expect } from 'chai'
import { refusing } from '../../support/authorization-server.ts'
import { changeCredential, readCredential } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { answer } from '../../support/scripted-server.ts'
import { storeKey } from '../../support/sign-in.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

describe('auth refresh', () => {
  const { sandbox, server, service } = makeSignInWorld()
  const refresh = (...args: string[]) => runChatctl(sandbox, ['auth', 'refresh', ...args])
  beforeEach(() => {
    plantSignIn(sandbox, { server, service })
    changeCredential(sandbox, { scope: 'chat:read chat:write' })
  })

  it('renews tokens that are still valid, and says when the new ones expire', async () => {
    const { exitCode, stdout, stderr } = await refresh('--json')
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const stored = readCredential(sandbox)
    expect(stored.access_token).to.equal('access-token-2')
    expect(JSON.parse(stdout)).to.deep.equal({
      profile: 'work',
      base_url: service.url,
      expires_at: stored.expires_at,
      scope: 'chat:read chat:write',
    })
    expect(server.refreshes().map((form) => form.get('scope'))).to.deep.equal([null])
    expect(service.requests).to.deep.equal([])
  })

  it('requests a narrower scope, and requests it again in later renewals', async () => {
    const { exitCode, stdout } = await refresh('--scope', 'chat:read', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ scope: 'chat:read' })
    await refresh()
    expect(server.refreshes().map((form) => form.get('scope'))).to.deep.equal(['chat:read', 'chat:read'])
    expect(readCredential(sandbox).scope).to.equal('chat:read')
    expect(await refresh('--scope', 'chat:read chat:write')).to.include({ exitCode: 0 })
    expect(readCredential(sandbox).scope).to.equal('chat:read chat:write')
  })

  it('exits 4 if the server refuses, and keeps the sign-in if only the scope is refused', async () => {
    const before = readCredential(sandbox)
    server.script.token = [refusing('invalid_scope')]
    const scope = await refresh('--scope', 'chat:read')
    const again = 'Sign in again with: chatctl auth login --profile work'
    expectFailure(scope, 4, 'invalid_scope', `${again} --scope chat:read`)
    expect(scope.stderr).not.to.contain('has ended')
    expect(readCredential(sandbox)).to.deep.equal(before)
    server.script.token = [refusing('invalid_grant')]
    expectFailure(await refresh(), 4, again)
  })

  it('exits 69 if the server fails, although the access token is still valid', async () => {
    server.script.token = [answer(500)]
    expectFailure(await refresh(), 69, '500')
  })

  it('exits 4 without a refresh token, or without a sign-in', async () => {
    changeCredential(sandbox, { refresh_token: undefined })
    expectFailure(await refresh(), 4, 'has no refresh token')
    await runChatctl(sandbox, ['auth', 'logout'])
    expectFailure(await refresh(), 4, 'Not signed in')
    expect(server.refreshes()).to.deep.equal([])
  })

  it('exits 2 for an API key, and for the embedded service', async () => {
    const env = { CHATCTL_API_KEY: 'key-1' }
    const fromEnvironment = await runChatctl(sandbox, ['auth', 'refresh'], { env })
    expectFailure(fromEnvironment, 2, 'comes from CHATCTL_API_KEY, so it cannot be refreshed')
    expectFailure(await refresh('--profile', 'local'), 2, 'needs no sign-in')
    server.live.add('key-1')
    await storeKey(sandbox, 'key-1', service, 'other')
    const stored = await refresh('--profile', 'other')
    expectFailure(stored, 2, 'Profile "other" has an API key, which cannot be refreshed')
  })

  for (const address of ['not-a-url', 'javascript:alert(1)', 'http://192.0.2.1/token'])
    it(`reports the stored token endpoint ${address}, to which nothing can be sent`, async () => {
      changeCredential(sandbox, { token_endpoint: address })
      const again = 'Replace it with: chatctl auth login --profile work'
      expectFailure(await refresh(), 4, 'is not a credential of chatctl (see token_endpoint)', again)
    })

  it('sends nothing with --dry-run', async () => {
    const { exitCode, stdout } = await refresh('--scope', 'chat:read', '--dry-run', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({
      refresh: 'work',
      token_endpoint: `${server.url}/oauth/token`,
      scope: 'chat:read',
    })
    expect(server.tokenRequests).to.deep.equal([])
  })
})
