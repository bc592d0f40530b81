import { expect } from 'chai'
import { startBearerService, tokensSeen } from '../support/bearer-service.ts'
import {
  changeCredential,
  editProfile,
  expireCredential,
  findCredentials,
  readCredential,
} from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { answer, type Behaviour, delayed, type FaultServer, json, webPage } from '../support/fault-server.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signIn } from '../support/sign-in.ts'
import { refusing, startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

const signInAgain = /^Hint: chatctl auth login (-p|--profile) work$/m

describe('a token that is refreshed', () => {
  let server: TokenEndpoint
  let service: FaultServer
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = createSandbox()
    server = await startTokenEndpoint()
    service = await startBearerService((token) => server.live.has(token))
    plantSignIn(sandbox, { server, service })
  })
  afterEach(async () => {
    sandbox.remove()
    await server.close()
    await service.close()
  })

  const models = (...more: string[]): Promise<Run> => runChatctl(sandbox, ['chat', 'models', ...more])
  const endTokens = () => server.live.clear()

  /** Makes chatctl believe that its token lives `life` seconds, of which `left` remain. */
  function age(life: number, left: number): void {
    const expiresAt = Date.now() + left * 1000
    changeCredential(sandbox, {
      obtained_at: new Date(expiresAt - life * 1000).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
    })
  }

  it('is one that is about to end, before it is used', async () => {
    for (const left of [-3600, 0, 50]) {
      age(3600, left)
      const refreshes = server.refreshes().length
      expect(await models()).to.include({ exitCode: 0, stderr: '' })
      expect(server.refreshes(), `${left} s left`).to.have.length(refreshes + 1)
    }
    expect(tokensSeen(service)).to.deep.equal(['access-token-2', 'access-token-3', 'access-token-4'])
  })

  it('is not one that has more than a minute or a tenth of its life, nor one whose end nobody named', async () => {
    age(3600, 90)
    expect(await models()).to.include({ exitCode: 0 })
    age(100, 20)
    expect(await models()).to.include({ exitCode: 0 })
    server.script.token = [server.tokens({ expires_in: undefined })]
    await signIn(sandbox, { server, service }, [])
    expect(readCredential(sandbox)).not.to.have.property('expires_at')
    expect(await models()).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.deep.equal([])
  })

  it('is asked for as RFC 6749 section 6 has it, without a scope, and kept', async () => {
    expireCredential(sandbox)
    await models()
    const [form = new URLSearchParams()] = server.refreshes()
    expect(Object.fromEntries(form)).to.deep.equal({
      grant_type: 'refresh_token',
      client_id: server.clientId,
      refresh_token: 'refresh-token-1',
    })
    const { access_token, refresh_token, expires_at = '' } = readCredential(sandbox)
    expect({ access_token, refresh_token }).to.deep.equal({
      access_token: 'access-token-2',
      refresh_token: 'refresh-token-2',
    })
    expect(Date.parse(expires_at) - Date.now()).to.be.within(3_500_000, 3_600_000)
    expect(await models()).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.have.length(1)
  })

  it('is asked for where it was given, whatever the profile says since', async () => {
    const attacker = await startTokenEndpoint()
    const urls = { auth_url: attacker.url, token_url: `${attacker.url}/oauth/token` }
    editProfile(sandbox, 'work', urls)
    expireCredential(sandbox)
    expect(await models()).to.include({ exitCode: 0 })
    expect(attacker.tokenRequests).to.deep.equal([])
    expect(server.refreshes()).to.have.length(1)
    await attacker.close()
  })

  it('shows in auth status when it ends now', async () => {
    expireCredential(sandbox)
    const { stdout } = await runChatctl(sandbox, ['auth', 'status', '--json'])
    expect(JSON.parse(stdout).expires_at).to.equal(readCredential(sandbox).expires_at)
  })

  it('keeps its refresh token and its scope where the answer names none', async () => {
    changeCredential(sandbox, { scope: 'chat:write' })
    expireCredential(sandbox)
    server.script.token = [server.tokens({ refresh_token: undefined }), server.tokens()]
    await models()
    expect(readCredential(sandbox)).to.include({ refresh_token: 'refresh-token-1', scope: 'chat:write' })
    expireCredential(sandbox)
    await models()
    expect(server.refreshes().map((form) => form.get('refresh_token'))).to.deep.equal([
      'refresh-token-1',
      'refresh-token-1',
    ])
  })

  it('is signed out where the server says invalid_grant: exit 4, and how to sign in again', async () => {
    expireCredential(sandbox)
    server.script.token = [refusing('invalid_grant')]
    expectFailure(await models(), 4, signInAgain)
    expect(service.requests).to.deep.equal([])
    const { stderr } = await models('--json')
    expect(JSON.parse(stderr).error).to.include({ code: 'signed_out' })
    expect(await runChatctl(sandbox, ['auth', 'status', '--no-verify'])).to.include({ exitCode: 0 })
    server.script.token = [server.tokens()]
    await signIn(sandbox, { server, service }, [])
    expect(await models()).to.include({ exitCode: 0 })
  })

  for (const [what, behaviour] of [
    ['400 with an empty body', answer(400)],
    ['400 with a page', answer(400, { 'content-type': 'text/html' }, '<h1>Bad Request</h1>')],
    ['400 with JSON that names no error', json(400, {})],
    ['401 with an empty body', answer(401)],
    ['401 with a challenge', answer(401, { 'www-authenticate': 'Basic realm="x"' })],
    ['invalid_client', refusing('invalid_client')],
    ['invalid_request', refusing('invalid_request')],
  ] as [string, Behaviour][]) {
    it(`is signed out where the token endpoint answers ${what}: exit 4, and how to sign in again`, async () => {
      expireCredential(sandbox)
      server.script.token = [behaviour]
      const run = await models()
      expectFailure(run, 4, `is over. Renewing the sign-in was refused by ${server.url}`, signInAgain)
      expect(run.stderr).not.to.match(/JSON|token URL/)
      expect(service.requests).to.deep.equal([])
      expect(server.refreshes(), 'the refresh token is sent once').to.have.length(1)
    })
  }

  it('says how to get another token endpoint where the known one answers a page', async () => {
    expireCredential(sandbox)
    server.script.token = [webPage]
    expectFailure(
      await models(),
      1,
      `${server.url}/oauth/token`,
      /^Hint: .*: chatctl auth login --profile work$/m,
    )
  })

  for (const [refreshToken, status, words] of [
    ['refresh-token-1', 'ok', 'it is renewed with the next request'],
    [undefined, 'failed', 'has expired, and cannot be renewed'],
  ] as const) {
    it(`is ${status} to doctor after its end, ${refreshToken ? 'with' : 'without'} a refresh token`, async () => {
      changeCredential(sandbox, { refresh_token: refreshToken })
      expireCredential(sandbox)
      const { stdout } = await runChatctl(sandbox, ['doctor', '-p', 'work', '--json'])
      const checks: { check: string; status: string; message: string; hint: string | null }[] =
        JSON.parse(stdout)
      const credential = checks.find(({ check }) => check === 'credential')
      expect(credential).to.include({ status })
      expect(credential?.message).to.contain(words)
      if (status === 'failed') expect(credential?.hint).to.contain('chatctl auth login --profile work')
    })
  }

  it('without a refresh token is signed out when it has ended', async () => {
    server.script.token = [server.tokens({ refresh_token: undefined })]
    await signIn(sandbox, { server, service }, [])
    const asked = server.tokenRequests.length
    endTokens()
    expectFailure(await models(), 4)
    expireCredential(sandbox)
    expectFailure(await models(), 4, signInAgain)
    expect(server.tokenRequests).to.have.length(asked)
  })

  for (const [what, behaviour, exitCode] of [
    ['answers 500', answer(500), 69],
    ['answers a page', webPage, 1],
    ['is slow', (...all) => delayed(6000, server.tokens())(...all), 69],
    ['refuses the client', refusing('invalid_client'), 4],
  ] as [string, Behaviour, number][]) {
    it(`stays as it was when the token endpoint ${what}`, async () => {
      expireCredential(sandbox)
      const before = readCredential(sandbox)
      server.script.token = [behaviour]
      expectFailure(await models('--timeout', '1s', '--retries', '0'), exitCode)
      expect(readCredential(sandbox)).to.deep.equal(before)
      server.script.token = [server.tokens()]
      expect(await models()).to.include({ exitCode: 0 })
    })
  }

  it('is printed by auth token, refreshed if need be', async () => {
    expireCredential(sandbox)
    expect(await runChatctl(sandbox, ['auth', 'token'])).to.include({
      exitCode: 0,
      stdout: 'access-token-2\n',
    })
    expect(service.requests).to.deep.equal([])
  })

  it('is not touched where the environment holds a key', async () => {
    expireCredential(sandbox)
    server.live.add('key-1')
    const env = { CHATCTL_API_KEY: 'key-1' }
    expect(await runChatctl(sandbox, ['chat', 'models'], { env })).to.include({ exitCode: 0 })
    expect(tokensSeen(service)).to.deep.equal(['key-1'])
    expect(server.refreshes()).to.deep.equal([])
    expect(findCredentials(sandbox)).to.have.length(1)
  })
})
