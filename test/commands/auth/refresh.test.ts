import { expect } from 'chai'
import { HeldCredential } from '../../../src/auth/credential-sources.ts'
import type { TemporaryCredential } from '../../../src/auth/credentials/credential-command.ts'
import { refusing, startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  changeCredential,
  editProfile,
  expireCredential,
  readCredential,
} from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { tokensSeen } from '../../support/handlers/bearer.ts'
import { startLogin } from '../../support/login-process.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import {
  answer,
  type Behavior,
  failing,
  sse,
  startScriptedServer,
  webPage,
} from '../../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

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
    expect([access_token, refresh_token]).to.deep.equal(['access-token-2', 'refresh-token-2'])
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
    const kept = { refresh_token: 'refresh-token-1', scope: 'chat:write' }
    expect(readCredential(world.sandbox)).to.include(kept)
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
      const filter = '.[] | select(.check == "credential")'
      const { stdout } = await runChatctl(world.sandbox, ['doctor', '-p', 'work', '--jq', filter])
      const credential = JSON.parse(stdout)
      expect(credential).to.include({ status })
      expect(credential.message).to.contain(words)
      if (status === 'failed') expect(credential.hint).to.contain('chatctl auth login --profile work')
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
    expect((await runChatctl(world.sandbox, ['auth', 'token'])).stdout).to.equal('access-token-2\n')
    expect(world.service.requests).to.deep.equal([])
  })
})

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
    const { access_token, expires_at } = readCredential(sandbox)
    expect(access_token).to.equal('access-token-2')
    const about = { profile: 'work', base_url: service.url }
    expect(JSON.parse(stdout)).to.deep.equal({ ...about, expires_at, scope: 'chat:read chat:write' })
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
    const { stdout } = await refresh('--scope', 'chat:read', '--dry-run', '--json')
    const token_endpoint = `${server.url}/oauth/token`
    expect(JSON.parse(stdout)).to.deep.equal({ refresh: 'work', token_endpoint, scope: 'chat:read' })
    expect(server.tokenRequests).to.deep.equal([])
  })
})

describe('a request to which the service responds with 401', () => {
  const world = makeSignInWorld()
  beforeEach(() => plantSignIn(world.sandbox, world))

  const models = (): Promise<Run> => runChatctl(world.sandbox, ['chat', 'models'])
  const endTokens = () => world.server.live.clear()
  /** Issues a token that expires before it is used. */
  const stillborn: Behavior = (request, response, incoming) => {
    const sent = world.server.tokens()(request, response, incoming)
    endTokens()
    return sent
  }

  it('is repeated after one renewal of the token, also if it is a POST, which had no effect', async () => {
    endTokens()
    const words = ['api', 'POST', '/v1/new', '--data', '{"a":1}']
    expect(await runChatctl(world.sandbox, words)).to.include({ exitCode: 0, stderr: '' })
    expect(world.service.requests.map(({ body }) => body)).to.deep.equal(['{"a":1}', '{"a":1}'])
    expect(tokensSeen(world.service)).to.deep.equal(['access-token-1', 'access-token-2'])
    expect(world.server.refreshes()).to.have.length(1)
  })

  it('is repeated also if it is a stream', async () => {
    const words = sse([{ choices: [{ delta: { content: 'Hello' }, index: 0 }] }])
    await using talk = await startScriptedServer({
      choose: ({ headers }) =>
        headers.authorization === 'Bearer access-token-3' ? words : failing(401, 'x', 'Not you'),
    })
    await signIn(world.sandbox, { server: world.server, service: talk }, ['--no-verify'], { profile: 'talk' })
    const { exitCode, stdout } = await runChatctl(world.sandbox, 'chat send Hi --stream -p talk'.split(' '))
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: 'Hello\n' })
    expect(tokensSeen(talk)).to.deep.equal(['access-token-2', 'access-token-3'])
  })

  it('fails after one renewal if the new token is refused too: exit 4', async () => {
    endTokens()
    world.server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(world.server.refreshes()).to.have.length(1)
    expect(world.service.requests).to.have.length(2)
  })

  it('fails without a loop if the token was renewed before the request: exit 4', async () => {
    expireCredential(world.sandbox)
    world.server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(world.server.refreshes().length).to.be.at.most(2)
    expect(world.service.requests.length).to.be.at.most(2)
  })

  it('is repeated after a 401 only: a 403 renews no token', async () => {
    await using house = await startScriptedServer(failing(403, 'x', 'Not this'))
    const parties = { server: world.server, service: house }
    await signIn(world.sandbox, parties, ['--no-verify'], { profile: 'house' })
    expectFailure(await runChatctl(world.sandbox, ['chat', 'models', '-p', 'house']), 5)
    expect(world.server.refreshes()).to.deep.equal([])
  })
})

/** RFC 6749 section 5.2 lets the server choose the text of its error code. */
describe('an error of the token endpoint that quotes the request', () => {
  const world = makeSignInWorld()

  for (const form of [[], ['--json'], ['--debug'], ['--json', '--debug']]) {
    const title = form.join(' ') || 'text'

    it(`is shown without the refresh token: ${title}`, async () => {
      plantSignIn(world.sandbox, world)
      expireCredential(world.sandbox)
      const { refresh_token: secret = '' } = readCredential(world.sandbox)
      for (const code of [secret, `bad ${secret}`]) {
        world.server.script.token = [refusing(code, `no ${secret}`)]
        const { exitCode, stdout, stderr } = await runChatctl(world.sandbox, ['chat', 'models', ...form])
        expect(exitCode, stderr).to.equal(4)
        expect(stdout).to.equal('')
        expect(stderr).to.contain(' failed: ').and.not.contain(secret)
      }
    })

    it(`is shown without the code and its verifier: ${title}`, async () => {
      let secrets: string[] = []
      world.server.script.token = [
        (request, ...rest) => {
          const sent = new URLSearchParams(request.body)
          secrets = [sent.get('code') ?? '', sent.get('code_verifier') ?? '']
          return refusing(secrets.join(' '), secrets.join(' '))(request, ...rest)
        },
      ]
      const flags = [...loginFlags(world), '--no-browser', ...form]
      const { address, ended } = startLogin(world.sandbox, flags)
      await signInByHttp((await address()).href)
      const { exitCode, stdout, stderr } = await ended
      expect(exitCode, stderr).to.equal(4)
      expect(stdout).to.equal('')
      expect(stderr).to.contain(' failed: ')
      expect(secrets).to.have.length(2)
      for (const secret of secrets) expect(stderr).not.to.contain(secret)
    })
  }
})

describe('a credential that is held in memory', () => {
  const makeHeld = (more: (clock: SteppedClock) => Partial<TemporaryCredential> = () => ({})) => {
    const clock = new SteppedClock()
    let made = 0
    const obtain = async () => ({ secret: `key-${++made}`, kind: null, ...more(clock) })
    return { clock, held: new HeldCredential(obtain, clock) }
  }

  it('is obtained with the first request, once for requests at the same time', async () => {
    const { held } = makeHeld()
    expect(held.current).to.equal(undefined)
    expect(await Promise.all([held.secret(), held.secret()])).to.deep.equal(['key-1', 'key-1'])
    expect(await held.secret()).to.equal('key-1')
    expect(held.current?.secret).to.equal('key-1')
  })

  it('is obtained again after a 401 only if it was obtained a minute before', async () => {
    const { clock, held } = makeHeld()
    await held.secret()
    clock.pass(59_999)
    expect(await held.secret('key-1')).to.equal('key-1')
    clock.pass(1)
    expect(await Promise.all([held.secret('key-1'), held.secret('key-1')])).to.deep.equal(['key-2', 'key-2'])
    expect(await held.secret('key-2')).to.equal('key-2')
    expect(await held.secret('key-1'), 'rejected before it was replaced').to.equal('key-2')
  })

  it('is obtained again when it is about to expire', async () => {
    const { clock, held } = makeHeld((clock) => ({
      obtained_at: new Date(clock.now()).toISOString(),
      expires_at: new Date(clock.now() + 600_000).toISOString(),
    }))
    await held.secret()
    clock.pass(539_999)
    expect(await held.secret()).to.equal('key-1')
    clock.pass(1)
    expect(await held.secret()).to.equal('key-2')
    expect(await held.secret()).to.equal('key-2')
  })
})
