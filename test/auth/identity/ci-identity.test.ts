import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  identityToken,
  openIdMetadata,
  refusing,
  startAuthorizationServer,
} from '../../support/authorization-server.ts'
import { findCredentials, readCredential, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { type HostOptions, type Run, runChatctl } from '../../support/run-chatctl.ts'
import { serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  json,
  silent,
  startScriptedServer,
  webPage,
} from '../../support/scripted-server.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'
import { SkippingClock } from '../../support/stepped-clock.ts'

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
const token = identityToken()

describe('a CI job without a stored key', () => {
  const world = makeSignInWorld()
  const run = (args: readonly string[], { env, ...options }: HostOptions = {}): Promise<Run> =>
    runChatctl(world.sandbox, args, {
      ...options,
      env: {
        CHATCTL_BASE_URL: world.service.url,
        CHATCTL_AUTH_URL: world.server.url,
        CHATCTL_OIDC: 'gitlab',
        CHATCTL_ID_TOKEN: token,
        ...env,
      },
    })
  const models = (env: NodeJS.ProcessEnv = {}, ...more: string[]) => run(['chat', 'models', ...more], { env })
  const sent = () => Object.fromEntries(world.server.tokenRequests[0] ?? [])
  const listGrants = (...grant_types_supported: string[]) => {
    world.server.script.metadata = (document) => ({ ...document, grant_types_supported })
  }
  /** Requests that are sent neither again nor for long. */
  const hurried = ['--retries', '0', '--timeout', '300ms']

  describe('exchanges its identity token for an access token', () => {
    it('in memory, once for each command line, and stores nothing', async () => {
      expect(await models()).to.include({ exitCode: 0, stderr: '' })
      expect(sent()).to.deep.equal({
        grant_type: tokenExchange,
        subject_token: token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      })
      expect(tokensSeen(world.service)).to.deep.equal(['access-token-1'])
      expect(findCredentials(world.sandbox)).to.deep.equal([])
      expect(readProfiles(world.sandbox)).to.deep.equal({})
    })

    it('with a client ID, scope, and token URL of the environment', async () => {
      const { url } = world.server
      const env = {
        CHATCTL_CLIENT_ID: 'ci',
        CHATCTL_SCOPE: 'chat:read',
        CHATCTL_TOKEN_URL: `${url}/oauth/token`,
      }
      world.server.script.metadata = () => undefined
      expect(await models({ ...env, CHATCTL_AUTH_URL: '' })).to.include({ exitCode: 0 })
      expect(sent()).to.include({ grant_type: tokenExchange, client_id: 'ci', scope: 'chat:read' })
    })

    it('from a variable or a file', async () => {
      const path = join(world.sandbox.home, 'token.jwt')
      writeFileSync(path, `${token}\n`, { mode: 0o600 })
      const env = { CHATCTL_ID_TOKEN: '', MINE: token }
      for (const CHATCTL_OIDC of ['env:MINE', `file:${path}`, 'file:token.jwt'])
        expect(await models({ ...env, CHATCTL_OIDC }), CHATCTL_OIDC).to.include({ exitCode: 0, stderr: '' })
      expect(new Set(world.server.tokenRequests.map((form) => form.get('subject_token')))).to.have.keys(token)
    })

    it('as a client assertion if the server offers only client credentials', async () => {
      listGrants('authorization_code', 'client_credentials')
      const refused = await models()
      expectFailure(refused, 4, 'takes an identity token only from a client with an ID', 'CHATCTL_CLIENT_ID')
      expect(await models({ CHATCTL_CLIENT_ID: 'ci' })).to.include({ exitCode: 0 })
      expect(sent()).to.deep.equal({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: token,
        client_id: 'ci',
      })
      listGrants('client_credentials', tokenExchange)
      expect(await models({ CHATCTL_CLIENT_ID: 'ci' })).to.include({ exitCode: 0 })
      expect(world.server.tokenRequests[1]?.get('grant_type')).to.equal(tokenExchange)
      listGrants('authorization_code')
      expectFailure(await models(), 4, 'does not exchange identity tokens for access tokens')
      expect(world.server.tokenRequests).to.have.length(2)
    })

    it('for auth token, and not for a dry run', async () => {
      expect((await run(['chat', 'send', 'Hi', '--dry-run'])).exitCode).to.equal(0)
      expect(world.server.tokenRequests).to.deep.equal([])
      const { stdout } = await run(['auth', 'token', '--json'])
      expect(JSON.parse(stdout)).to.include({ token: 'access-token-1', kind: 'oauth' })
      expect(world.service.requests).to.deep.equal([])
    })
  })

  describe('in GitHub Actions', () => {
    const at = (url: string) => ({
      CHATCTL_OIDC: 'github',
      ACTIONS_ID_TOKEN_REQUEST_URL: url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    })

    it('requests the identity token for the origin of the base URL, and shows it nowhere', async () => {
      await using github = await startScriptedServer(json(200, { value: token, count: 1 }))
      const env = at(`${github.url}/token?api-version=2.0`)
      const traced = await models(env, '--debug')
      expect(traced.exitCode, traced.stderr).to.equal(0)
      expect(traced.stderr).not.to.contain(token).and.not.contain('request-token')
      const audience = encodeURIComponent(world.service.url)
      expect(github.requests[0]?.path).to.equal(`/token?api-version=2.0&audience=${audience}`)
      expect(github.requests[0]?.headers.authorization).to.equal('Bearer request-token')
      await models({ ...env, CHATCTL_OIDC_AUDIENCE: 'mine' })
      expect(github.requests[1]?.path).to.equal('/token?api-version=2.0&audience=mine')
    })

    it('fails with 4 and names the permission if the job has no right to a token', async () => {
      const env = { CHATCTL_OIDC: 'github' }
      const words = 'permissions: { id-token: write'
      expectFailure(await models(env), 4, 'ACTIONS_ID_TOKEN_REQUEST_URL is not set', words)
      const url = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://github.example' }
      expectFailure(await models({ ...env, ...url }), 4, 'ACTIONS_ID_TOKEN_REQUEST_TOKEN is not set', words)
      const unreachable = { CHATCTL_BASE_URL: 'http://127.0.0.1:1', CHATCTL_AUTH_URL: '' }
      expectFailure(await models({ ...env, ...unreachable }, ...hurried), 4, words)
    })

    it('sends its request token only with TLS, or on this machine', async () => {
      const failed = await models(at('http://github.example/token'))
      expectFailure(failed, 2, 'http://github.example would send the credential unencrypted')
    })

    for (const [what, behavior, exitCode, words] of [
      ['500', answer(500), 69, 'responded 500'],
      ['403', json(403, { message: 'no' }), 4, 'GitHub issued no identity token'],
      ['HTML', webPage, 1, 'sent no identity token'],
      ['a token that is no JWT', json(200, { value: 'not.a.jwt' }), 4, 'it is not a JSON Web Token (JWT)'],
      ['nothing', silent, 69, 'No response from http://127.0.0.1:'],
    ] as [string, Behavior, number, string][])
      it(`fails with ${exitCode} if GitHub sends ${what}`, async () => {
        await using github = await startScriptedServer(behavior)
        const failed = await models(at(github.url), ...hurried)
        expectFailure(failed, exitCode, words)
        expect(failed.stderr).not.to.contain('request-token').and.not.contain(token)
        expect(world.server.tokenRequests).to.deep.equal([])
      })
  })

  describe('fails with 4, and sends nothing,', () => {
    const unreadable = 'Cannot read CHATCTL_OIDC: '
    beforeEach(() => {
      const { home } = world.sandbox
      writeFileSync(join(home, 'empty'), '\n', { mode: 0o600 })
      writeFileSync(join(home, 'large'), Buffer.alloc(70_000, 'x'), { mode: 0o600 })
    })
    for (const [what, env, words] of [
      [
        'the token of GitLab is not declared',
        { CHATCTL_ID_TOKEN: '' },
        'id_tokens: { CHATCTL_ID_TOKEN: { aud:',
      ],
      ['the variable is empty', { CHATCTL_OIDC: 'env:NONE' }, 'NONE is not set'],
      ['the variable has another secret', { CHATCTL_ID_TOKEN: 'ghp_secret' }, 'it is not a JSON Web Token'],
      ['the file does not exist', { CHATCTL_OIDC: 'file:none.jwt' }, `${unreadable}none.jwt`],
      ['the file is empty', { CHATCTL_OIDC: 'file:empty' }, 'the identity token in empty is empty'],
      ['the file is a directory', { CHATCTL_OIDC: 'file:.' }, `${unreadable}.: it is a directory`],
      ['the file is too large', { CHATCTL_OIDC: 'file:large' }, 'CHATCTL_OIDC: large is larger than 64 KiB'],
      ['it is a device', { CHATCTL_OIDC: 'file:/dev/zero' }, `${unreadable}/dev/zero: it is a device, not a`],
    ] as [string, NodeJS.ProcessEnv, string][])
      it(`if ${what}`, async () => {
        const failed = await models(env)
        expectFailure(failed, 4, words)
        expect(failed.stderr).not.to.contain('ghp_secret')
        expect(world.server.tokenRequests).to.deep.equal([])
        expect(world.service.requests).to.deep.equal([])
      })
  })

  it('is refused with 2 for another source, or without a service', async () => {
    expectFailure(await models({ CHATCTL_OIDC: token }), 2, 'CHATCTL_OIDC is not github, gitlab')
    const rejected = await models({ CHATCTL_BASE_URL: '' })
    expectFailure(rejected, 2, 'CHATCTL_OIDC is set, but no service is selected')
  })

  it('sends the identity token to no other origin, unless the token endpoint is configured', async () => {
    await using other = await startScriptedServer(world.server.tokens())
    world.server.script.metadata = (document) => ({ ...document, token_endpoint: `${other.url}/token` })
    expectFailure(await models(), 2, 'names a token endpoint of another origin', 'export CHATCTL_TOKEN_URL=')
    world.server.script.metadata = (document) => ({
      ...document,
      token_endpoint: 'http://login.example/token',
    })
    expectFailure(await models(), 2, 'http://login.example would send the credential unencrypted')
    expect(other.requests).to.deep.equal([])
    expect(await models({ CHATCTL_TOKEN_URL: `${other.url}/token` })).to.include({ exitCode: 0 })
  })

  it('learns whose token the server has refused, and what to allow', async () => {
    const { url } = world.server
    world.server.script.token = [refusing('invalid_grant', `no trust for ${token}\u001b[2J`)]
    const self = { CHATCTL_AUTH_URL: '', CHATCTL_BASE_URL: url }
    const failed = await models({ ...self, CHATCTL_OIDC_AUDIENCE: 'https://chat.example' })
    expectFailure(
      failed,
      4,
      `The exchange of the identity token failed: ${url} responded 400, invalid_grant: no trust for [redacted]`,
      'identity token: iss https://ci.example, sub repo:acme/app:ref:refs/heads/main, aud https://chat.example, exp 2030-01-01T00:00:00.000Z',
      'chatctl service trust create NAME --issuer https://ci.example --audience https://chat.example --subject repo:acme/app:ref:refs/heads/main --permission PERMISSION',
    )
    expect(failed.stderr).not.to.contain(token).and.not.contain('\u001b')
    expect(sent()).to.include({ client_id: 'chatctl' })
    const elsewhere = await models(self)
    expectFailure(
      elsewhere,
      4,
      `The identity token is not for ${url}.`,
      'service audit --action trust.refused',
    )
    const late = await models({ ...self, CHATCTL_ID_TOKEN: identityToken({ aud: url, exp: 1_000_000_000 }) })
    expectFailure(late, 4, 'exp 2001-09-09T01:46:40.000Z', 'By the clock of this machine')
    world.server.script.token = [refusing('invalid_scope', 'the trust has no permission of the scope')]
    const scope = await models({ ...self, CHATCTL_SCOPE: 'users:write' })
    expectFailure(scope, 4, 'invalid_scope: the trust has no permission of the scope (identity token: iss')
    for (const { stderr } of [elsewhere, late, scope])
      expect(stderr).not.to.contain('service trust').and.not.contain('is for another service')
    expect(scope.stderr).not.to.contain('Hint:')
    const stranger = await models({ CHATCTL_ID_TOKEN: identityToken({ iss: 5, aud: ['a', 'b'], exp: 'x' }) })
    expectFailure(stranger, 4, 'iss missing, sub repo:acme/app:ref:refs/heads/main, aud a b, exp missing')
    expect(stranger.stderr).not.to.contain('service trust')
  })

  const invalidToken = { access_token: 'hidden-token\u001b[2J', token_type: 'Bearer' }
  for (const [what, behavior, exitCode, words] of [
    ['500', answer(500), 69, 'responded 500'],
    ['control characters', json(200, invalidToken), 1, 'a token with invalid characters'],
    ['nothing', silent, 69, 'No response from http://127.0.0.1:'],
  ] as [string, Behavior, number, string][])
    it(`fails with ${exitCode} if the token endpoint sends ${what}`, async () => {
      world.server.script.token = [behavior]
      const failed = await models({}, ...hurried)
      expectFailure(failed, exitCode, words)
      expect(failed.stderr).not.to.contain(token).and.not.contain('hidden-token').and.not.contain('\u001b')
      expect(world.server.tokenRequests).to.have.length(1)
      expect(world.service.requests).to.deep.equal([])
    })

  it('leaves the outcome of no change unknown if the token endpoint does not respond', async () => {
    world.server.script.token = [silent]
    const failed = await run(['users', 'update', 'u1', '--name', 'Ada', ...hurried])
    expectFailure(failed, 69, `No response from ${world.server.url}`)
    expect(failed.stderr).not.to.contain('unknown')
    const activity = await run(['activity', '--json'])
    expect(JSON.parse(activity.stdout)[0]).to.include({ outcome: 'refused', error: 'timeout' })
  })

  for (const [what, behavior, exitCode, words] of [
    ['500', answer(500), 69, 'responded 500'],
    ['HTML', webPage, 2, 'is unknown'],
    ['nothing', silent, 69, 'No response from http://127.0.0.1:'],
  ] as [string, Behavior, number, string][])
    it(`fails with ${exitCode} if the metadata is ${what}`, async () => {
      await using server = await startScriptedServer(behavior)
      expectFailure(await models({ CHATCTL_AUTH_URL: server.url }, ...hurried), exitCode, words)
      expect(server.requests.every(({ method }) => method === 'GET')).to.equal(true)
    })

  it('is named if the service refuses the access token, which is not requested again', async () => {
    world.server.script.token = [json(200, { access_token: 'dead', token_type: 'Bearer' })]
    const refused = await models()
    expectFailure(refused, 4, 'The access token comes from the identity token of GitLab CI (CHATCTL_OIDC)')
    expect(world.server.tokenRequests).to.have.length(1)
  })

  describe('auth login --ci', () => {
    const login = (env: NodeJS.ProcessEnv = {}, ...more: string[]) =>
      run(['auth', 'login', '--ci', '--insecure-storage', '--profile', 'ci', ...more], { env })

    it('stores the access token for the whole job, without a refresh token', async () => {
      const { exitCode, stdout, stderr } = await login({}, '--json')
      expect(exitCode, stderr).to.equal(0)
      expect(JSON.parse(stdout)).to.deep.include({
        profile: 'ci',
        kind: 'oauth',
        storage: 'file',
        verified: true,
      })
      expect(readCredential(world.sandbox)).to.include({ access_token: 'access-token-1' })
      expect(readCredential(world.sandbox)).not.to.have.property('refresh_token')
      const later = { CHATCTL_OIDC: '', CHATCTL_BASE_URL: '', CHATCTL_PROFILE: 'ci' }
      expect(await models(later)).to.include({ exitCode: 0, stderr: '' })
      expect(world.server.tokenRequests).to.have.length(1)
    })

    it('says where the access token is, how long it is valid, and how to use it', async () => {
      world.server.script.token = [
        world.server.tokens({ expires_in: 900 }),
        world.server.tokens({ expires_in: undefined }),
      ]
      const clock = new SkippingClock(Date.UTC(2026, 0, 1))
      const args = ['auth', 'login', '--ci', '--insecure-storage', '--profile', 'ci']
      const lasting = await run(args, { host: { clock } })
      expect(lasting.stdout)
        .to.contain('storage\tfile\n')
        .and.contain('expires_at\t2026-01-01T00:15:00.000Z\n')
      expect(lasting.stderr).to.equal(
        [
          'Warning: The credential is stored unencrypted in a file. Anyone who can read your files can use it.',
          'The access token is valid until 2026-01-01T00:15:00.000Z and cannot be renewed. To use it, unset CHATCTL_OIDC, and pass --profile ci to each command.',
          '',
        ].join('\n'),
      )
      const unknown = await run(args)
      expect(unknown.stderr).to.contain('The access token cannot be renewed. To use it, unset CHATCTL_OIDC,')
    })

    it('stores nothing with --dry-run, without a source, or if the exchange is refused', async () => {
      expect(JSON.parse((await login({}, '--dry-run', '--json')).stdout).sign_in).to.include({
        with: 'the identity token of GitLab CI',
        storage: 'file',
      })
      expectFailure(await login({ CHATCTL_OIDC: '' }), 2, 'CHATCTL_OIDC is not set', 'Set it to github')
      world.server.script.token = [refusing('invalid_grant')]
      expectFailure(await login(), 4, 'invalid_grant')
      expect(findCredentials(world.sandbox)).to.deep.equal([])
      expect(readProfiles(world.sandbox)).to.deep.equal({})
    })
  })
})

describe('the identity token of a CI job at oidc-provider', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startOidcProvider)
  const service = perTest(() => startBearerService(server.isLive))

  const models = async (claims: Parameters<typeof server.signIdentity>[0] = {}) =>
    runChatctl(sandbox, ['chat', 'models'], {
      env: {
        CHATCTL_BASE_URL: service.url,
        CHATCTL_AUTH_URL: server.url,
        CHATCTL_CLIENT_ID: server.jobId,
        CHATCTL_OIDC: 'env:TOKEN',
        TOKEN: await server.signIdentity(claims),
      },
    })

  it('results in an access token as a client assertion, and nothing is stored', async () => {
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    expect(server.count('client_credentials')).to.equal(1)
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  for (const [title, claims, shown] of [
    ['it is for another audience', { aud: 'https://other.example' }, 'aud https://other.example'],
    ['it is of another subject', { sub: 'another' }, 'sub another'],
    ['it has expired', { exp: 1 }, 'exp 1970-01-01T00:00:01.000Z'],
  ] as const)
    it(`is refused if ${title}: exit 4, with its claims`, async () => {
      expectFailure(await models(claims), 4, 'responded 40', 'identity token: iss job', shown)
      expect(service.requests).to.deep.equal([])
    })
})

const subject = 'repo:acme/app:ref:refs/heads/main'

describe('a CI job and the embedded service', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const service = perSuite(() => serveInProcess(sandbox))
  const issuer = perSuite(() => startAuthorizationServer({ metadataPath: openIdMetadata }))

  const machine = (...args: string[]) => runChatctl(sandbox, args)
  /** Runs a command as a job does that has an identity token for the service. */
  async function job(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
    const token = await issuer.sign({ sub: subject, aud: service.url })
    const base = { CHATCTL_BASE_URL: service.url, CHATCTL_OIDC: 'gitlab', CHATCTL_ID_TOKEN: token }
    return runChatctl(sandbox, args, { env: { ...base, ...env } })
  }

  it('is refused until it is trusted, with the command that helps', async () => {
    const refused = await job(['settings', 'get'])
    expectFailure(refused, 4, 'the identity token was rejected', `sub ${subject}`, `aud ${service.url}`)
    const line = /run there: chatctl (service trust create NAME .*)$/m.exec(refused.stderr)?.[1] ?? ''
    const words = line.replace('NAME', 'deploy').replace('PERMISSION', 'read:settings').split(' ')
    expect(await machine(...words)).to.include({ exitCode: 0, stderr: '' })
    const { exitCode, stdout, stderr } = await job(['settings', 'get', '--json'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).to.have.property('app_name')
  })

  it('has exactly the permissions of the trust', async () => {
    const refused = await job(['settings', 'set', 'app_name=x'])
    expect(refused).to.include({ exitCode: 5, stdout: '' })
    expect(refused.stderr).to.contain('write:settings')
  })

  it('gets its token from GitHub too, for the origin of the base URL', async () => {
    await using github = await startScriptedServer(
      json(200, { value: await issuer.sign({ sub: subject, aud: service.url }) }),
    )
    const env = {
      CHATCTL_OIDC: 'github',
      ACTIONS_ID_TOKEN_REQUEST_URL: github.url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    }
    expect(await job(['settings', 'get'], env)).to.include({ exitCode: 0, stderr: '' })
    const script =
      'test "$CHATCTL_API_KEY" -a -z "$ACTIONS_ID_TOKEN_REQUEST_URL$ACTIONS_ID_TOKEN_REQUEST_TOKEN"'
    expect(await job(['exec', '--for', '15m', '--', 'sh', '-c', script], env)).to.include({
      exitCode: 0,
      stderr: '',
    })
    expect(github.requests[0]?.path).to.equal(`/?audience=${encodeURIComponent(service.url)}`)
  })

  it('keeps its access token for the whole job with auth login --ci, until the trust is revoked', async () => {
    const login = await job(['auth', 'login', '--ci', '--profile', 'job', '--insecure-storage', '--json'])
    expect(login.exitCode, login.stderr).to.equal(0)
    const shown = JSON.parse(login.stdout)
    expect(shown).to.include({ profile: 'job', kind: 'oauth', verified: true })
    expect(Date.parse(shown.expires_at)).to.be.above(Date.now())
    expect(await machine('settings', 'get', '--profile', 'job')).to.include({ exitCode: 0 })
    expect(await machine('service', 'trust', 'revoke', 'deploy', '--yes')).to.include({ exitCode: 0 })
    expectFailure(await machine('settings', 'get', '--profile', 'job'), 4, 'profile "job"')
    expectFailure(await job(['settings', 'get']), 4, 'the identity token was rejected')
  })
})
