import { expect } from 'chai'
import { refusing, startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  changeCredential,
  editProfile,
  expireCredential,
  readCredential,
} from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { tokensSeen } from '../../support/handlers/bearer.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { answer, type Behavior, webPage } from '../../support/scripted-server.ts'
import { signIn } from '../../support/sign-in.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

const signInAgain = /^Hint: {2}Sign in again with: chatctl auth login (-p|--profile) work$/m

describe('an access token', () => {
  const world = makeSignInWorld()
  beforeEach(() => plantSignIn(world.sandbox, world))

  const models = (...more: string[]): Promise<Run> => runChatctl(world.sandbox, ['chat', 'models', ...more])
  const endTokens = () => world.server.live.clear()

  /** Changes the stored token to one with a lifetime of `life` seconds, of which `left` remain. */
  function age(life: number, left: number): void {
    const expiresAt = Date.now() + left * 1000
    changeCredential(world.sandbox, {
      obtained_at: new Date(expiresAt - life * 1000).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
    })
  }

  it('is renewed before use if it expires within a minute', async () => {
    for (const left of [-3600, 0, 50]) {
      age(3600, left)
      const refreshes = world.server.refreshes().length
      expect(await models()).to.include({ exitCode: 0, stderr: '' })
      expect(world.server.refreshes(), `${left} s left`).to.have.length(refreshes + 1)
    }
    expect(tokensSeen(world.service)).to.deep.equal(['access-token-2', 'access-token-3', 'access-token-4'])
  })

  it('is not renewed if more than a minute or a tenth of its lifetime remains, or if it has no expiry', async () => {
    age(3600, 90)
    expect(await models()).to.include({ exitCode: 0 })
    age(100, 20)
    expect(await models()).to.include({ exitCode: 0 })
    world.server.script.token = [world.server.tokens({ expires_in: undefined })]
    await signIn(world.sandbox, world, [])
    expect(readCredential(world.sandbox)).not.to.have.property('expires_at')
    expect(await models()).to.include({ exitCode: 0 })
    expect(world.server.refreshes()).to.deep.equal([])
  })

  it('is renewed with a request as in RFC 6749 section 6, without a scope, and the result is stored', async () => {
    expireCredential(world.sandbox)
    await models()
    const [form = new URLSearchParams()] = world.server.refreshes()
    expect(Object.fromEntries(form)).to.deep.equal({
      grant_type: 'refresh_token',
      client_id: world.server.clientId,
      refresh_token: 'refresh-token-1',
    })
    const { access_token, refresh_token, expires_at = '' } = readCredential(world.sandbox)
    expect({ access_token, refresh_token }).to.deep.equal({
      access_token: 'access-token-2',
      refresh_token: 'refresh-token-2',
    })
    expect(Date.parse(expires_at) - Date.now()).to.be.within(3_500_000, 3_600_000)
    expect(await models()).to.include({ exitCode: 0 })
    expect(world.server.refreshes()).to.have.length(1)
  })

  it('is renewed at the server that issued it, whatever the profile says', async () => {
    await using attacker = await startAuthorizationServer()
    const urls = { auth_url: attacker.url, token_url: `${attacker.url}/oauth/token` }
    editProfile(world.sandbox, 'work', urls)
    expireCredential(world.sandbox)
    expect(await models()).to.include({ exitCode: 0 })
    expect(attacker.tokenRequests).to.deep.equal([])
    expect(world.server.refreshes()).to.have.length(1)
  })

  it('keeps its refresh token and its scope if the response names none', async () => {
    changeCredential(world.sandbox, { scope: 'chat:write' })
    expireCredential(world.sandbox)
    world.server.script.token = [world.server.tokens({ refresh_token: undefined }), world.server.tokens()]
    await models()
    expect(readCredential(world.sandbox)).to.include({
      refresh_token: 'refresh-token-1',
      scope: 'chat:write',
    })
    expireCredential(world.sandbox)
    await models()
    const shown = world.server.refreshes().map((form) => form.get('refresh_token'))
    expect(shown).to.deep.equal(['refresh-token-1', 'refresh-token-1'])
  })

  it('is expired permanently after invalid_grant: exit 4, with the command that signs in', async () => {
    expireCredential(world.sandbox)
    world.server.script.token = [refusing('invalid_grant')]
    expectFailure(await models(), 4, signInAgain)
    expect(world.service.requests).to.deep.equal([])
    expect(JSON.parse((await models('--json')).stderr).error).to.include({ code: 'signed_out' })
    expect(await runChatctl(world.sandbox, ['auth', 'status', '--no-verify'])).to.include({ exitCode: 0 })
    world.server.script.token = [world.server.tokens()]
    await signIn(world.sandbox, world, [])
    expect(await models()).to.include({ exitCode: 0 })
  })

  for (const [what, behavior] of [
    ['400 with an empty body', answer(400)],
    ['401 with a challenge', answer(401, { 'www-authenticate': 'Basic realm="x"' })],
  ] as [string, Behavior][])
    it(`is expired permanently if the token endpoint responds with ${what}: exit 4, with the command that signs in`, async () => {
      expireCredential(world.sandbox)
      world.server.script.token = [behavior]
      const run = await models()
      expectFailure(run, 4, `has ended. Renewing the sign-in failed: ${world.server.url}`, signInAgain)
      expect(run.stderr).not.to.match(/JSON|token URL/)
      expect(world.service.requests).to.deep.equal([])
      expect(world.server.refreshes(), 'the refresh token is sent once').to.have.length(1)
    })

  for (const [refreshToken, status, words] of [
    ['refresh-token-1', 'ok', 'renewed with the next request'],
    [undefined, 'failed', 'has expired and has no refresh token'],
  ] as const)
    it(`is ${status} in doctor after its expiry, ${refreshToken ? 'with' : 'without'} a refresh token`, async () => {
      changeCredential(world.sandbox, { refresh_token: refreshToken })
      expireCredential(world.sandbox)
      const { stdout } = await runChatctl(world.sandbox, ['doctor', '-p', 'work', '--json'])
      const checks: { check: string; status: string; message: string; hint: string | null }[] =
        JSON.parse(stdout)
      const credential = checks.find(({ check }) => check === 'credential')
      expect(credential).to.include({ status })
      expect(credential?.message).to.contain(words)
      if (status === 'failed') expect(credential?.hint).to.contain('chatctl auth login --profile work')
    })

  it('cannot be renewed without a refresh token: exit 4', async () => {
    world.server.script.token = [world.server.tokens({ refresh_token: undefined })]
    await signIn(world.sandbox, world, [])
    const asked = world.server.tokenRequests.length
    endTokens()
    expectFailure(await models(), 4)
    expireCredential(world.sandbox)
    expectFailure(await models(), 4, signInAgain)
    expect(world.server.tokenRequests).to.have.length(asked)
  })

  for (const [what, behavior, exitCode] of [
    ['returns 500', answer(500), 69],
    ['returns a web page', webPage, 1],
  ] as [string, Behavior, number][])
    it(`stays stored if the token endpoint ${what}`, async () => {
      expireCredential(world.sandbox)
      const before = readCredential(world.sandbox)
      world.server.script.token = [behavior]
      expectFailure(await models('--timeout', '1s', '--retries', '0'), exitCode)
      expect(readCredential(world.sandbox)).to.deep.equal(before)
      world.server.script.token = [world.server.tokens()]
      expect(await models()).to.include({ exitCode: 0 })
    })

  it('is printed by auth token, renewed if necessary', async () => {
    expireCredential(world.sandbox)
    expect(await runChatctl(world.sandbox, ['auth', 'token'])).to.include({
      exitCode: 0,
      stdout: 'access-token-2\n',
    })
    expect(world.service.requests).to.deep.equal([])
  })
})
