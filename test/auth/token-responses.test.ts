import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { refusing, startAuthorizationServer } from '../support/authorization-server.ts'
import {
  changeCredential,
  expireCredential,
  findCredentials,
  readCredential,
} from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer, type Behavior } from '../support/scripted-server.ts'
import { signIn, storeKey } from '../support/sign-in.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'

/** Responses of servers in use that go beyond the examples of RFC 6749. */
describe('an unusual but valid response of the token endpoint', () => {
  const world = makeSignInWorld()

  for (const [what, fields] of [
    ['the type in lower case', { token_type: 'bearer' }],
    ['a lifetime as a string', { expires_in: '3600' }],
    ['a lifetime of centuries', { expires_in: 1e13 }],
    ['unknown fields', { x: { y: 1 }, error_description: null }],
    ['a token of 16 kB', { access_token: 'a'.repeat(16_000) }],
  ] as const)
    it(`may contain ${what}`, async () => {
      world.server.script.token = [world.server.tokens(fields)]
      await signIn(world.sandbox, world, ['--no-verify'])
      const { access_token, expires_at = '' } = readCredential(world.sandbox)
      expect(world.server.live).to.include(access_token)
      expect(Date.parse(expires_at) - Date.now()).to.be.above(3_500_000)
    })

  for (const fields of [
    { refresh_token: null },
    { refresh_token: '' },
    { expires_in: null },
    { expires_in: '' },
    { scope: null },
    { scope: ['chat:read', 'chat:write'] },
    { refresh_token: null, expires_in: null, scope: '', id_token: null },
  ])
    it(`is usable with ${JSON.stringify(fields)}`, async () => {
      world.server.script.token = [world.server.tokens(fields)]
      await signIn(world.sandbox, world, ['--scope', 'chat:read chat:write'])
      const stored = readCredential(world.sandbox)
      expect(world.server.live).to.include(stored.access_token)
      expect(stored.scope).to.equal('chat:read chat:write')
      if ('refresh_token' in fields) expect(stored).not.to.have.property('refresh_token')
      if ('expires_in' in fields) expect(stored).not.to.have.property('expires_at')
      expect(await runChatctl(world.sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
    })

  for (const field of ['refresh_token', 'expires_in'] as const)
    it(`renews the sign-in with ${field}: null`, async () => {
      await signIn(world.sandbox, world, [])
      const { refresh_token: before } = readCredential(world.sandbox)
      expireCredential(world.sandbox)
      world.server.script.token = [world.server.tokens({ [field]: null })]
      expect(await runChatctl(world.sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
      const stored = readCredential(world.sandbox)
      expect(world.server.live).to.include(stored.access_token)
      if (field === 'refresh_token') expect(stored.refresh_token).to.equal(before)
      else expect(stored).not.to.have.property('expires_at')
    })
})

describe('renewing a token', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  let onRequest: () => void
  const service = perTest(() =>
    startBearerService((token) => {
      onRequest()
      return server.live.has(token)
    }),
  )
  beforeEach(() => {
    onRequest = () => {}
    plantSignIn(sandbox, { server, service })
  })

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)
  const models = (...more: string[]): Promise<Run> => run('chat', 'models', ...more)

  /** Changes the stored token to one that expires in 50 s: due for renewal, but valid. */
  function reachLastMinute(): void {
    const expiresAt = Date.now() + 50_000
    changeCredential(sandbox, {
      obtained_at: new Date(expiresAt - 3_600_000).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
    })
  }

  // Fetch standard: a Response with the status 204 has no body.

  for (const [what, behavior] of [
    ['204', answer(204)],
    ['invalid_grant', refusing('invalid_grant')],
  ] as [string, Behavior][])
    it(`may fail while the token is valid: ${what}`, async () => {
      reachLastMinute()
      server.script.token = [behavior]
      expect(await models()).to.include({ exitCode: 0 })
      expect(server.refreshes()).to.have.length(1)
      expect(tokensSeen(service)).to.deep.equal(['access-token-1'])
    })

  it('exits 4 if it fails and the service refuses the token', async () => {
    reachLastMinute()
    server.live.clear()
    server.script.token = [refusing('invalid_grant')]
    expectFailure(
      await models(),
      4,
      'has ended',
      /^Hint: {2}Sign in again with: chatctl auth login --profile work$/m,
    )
    expect(tokensSeen(service), 'once').to.deep.equal(['access-token-1'])
  })

  it('prints a warning if the new tokens cannot be stored, and the command succeeds', async () => {
    expireCredential(sandbox)
    const directory = dirname(findCredentials(sandbox)[0] ?? '')
    const good = server.tokens()
    server.script.token = [
      (...all) => {
        renameSync(directory, join(sandbox.home, 'aside'))
        writeFileSync(directory, '')
        return good(...all)
      },
    ]
    const { exitCode, stdout, stderr } = await models('--json')
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout).data).to.have.length(1)
    expect(stderr).not.to.match(/(access|refresh)-token-\d/)
    expect(
      stderr
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).warning?.message),
    ).to.have.length(1)
    expect(stderr).to.contain('could not be stored').and.contain(directory)
    expect(stderr).to.contain('may stay valid at the server').and.contain('auth login --profile work')
    expect(tokensSeen(service)).to.deep.equal(['access-token-2'])
  })

  it('stores the new tokens after Ctrl-C during the renewal, and sends nothing else: exit 130', async () => {
    expireCredential(sandbox)
    const good = server.tokens()
    server.script.token = [
      (...all) => {
        running.interrupt()
        return good(...all)
      },
    ]
    const running = startChatctl(sandbox, ['chat', 'models'])
    expect(await running.ended).to.include({ exitCode: 130, stdout: '' })
    expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-2')
    expect(tokensSeen(service)).to.deep.equal([])
  })

  it('does not spend a refresh token twice if the new one cannot be stored', async () => {
    expireCredential(sandbox)
    const directory = dirname(findCredentials(sandbox)[0] ?? '')
    const aside = join(sandbox.home, 'aside')
    const good = server.tokens()
    server.script.token = [
      async (...all) => {
        renameSync(directory, aside)
        writeFileSync(directory, '')
        await good(...all)
        server.live.delete('access-token-2')
      },
      good,
    ]
    // When the service refuses the new token, the old one can be read again.
    onRequest = () => {
      if (!existsSync(aside)) return
      rmSync(directory)
      renameSync(aside, directory)
    }
    const { exitCode, stderr } = await models()
    expect(exitCode, stderr).to.equal(0)
    expect(stderr).to.contain('could not be stored')
    const shown = server.refreshes().map((form) => form.get('refresh_token'))
    expect(shown).to.deep.equal(['refresh-token-1', 'refresh-token-2'])
    expect(tokensSeen(service)).to.deep.equal(['access-token-2', 'access-token-3'])
    expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-3')
  })
})

/** Every secret that was sent is searched for in all output and in all files. */
describe('the secrets', () => {
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService(async (token) => token === key || server.isLive(token)))
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  const key = 'canary-API-key'
  const secrets = new Set<string>()
  beforeEach(() => {
    secrets.clear()
    server.grants.length = 0
  })

  /** Collects the tokens that are stored, and the codes and verifiers that were sent. */
  function collect(): void {
    const { access_token, refresh_token, key: stored } = readCredential(sandbox)
    for (const secret of [access_token, refresh_token, stored]) if (secret) secrets.add(secret)
    for (const { params } of server.grants)
      for (const name of ['code', 'code_verifier', 'refresh_token'])
        if (typeof params[name] === 'string') secrets.add(params[name])
  }

  function expectSilence(runs: readonly Run[]): void {
    expect(secrets.size).to.be.above(0)
    for (const { stdout, stderr } of runs)
      for (const secret of secrets) {
        expect(stdout, 'stdout').not.to.contain(secret)
        expect(stderr, 'stderr').not.to.contain(secret)
      }
    const credentials = findCredentials(sandbox)
    const files = globSync(['**/*', '.*/**/*'], { cwd: sandbox.home }).map((name) => join(sandbox.home, name))
    for (const file of files.filter((path) => statSync(path).isFile() && !credentials.includes(path))) {
      const bytes = readFileSync(file)
      for (const secret of secrets) expect(bytes.includes(secret), `${file} holds a secret`).to.equal(false)
    }
  }

  for (const form of [[], ['--json']])
    it(`of a sign-in are shown by auth token only, also after a renewal: --debug ${form.join(' ')}`, async () => {
      const run = (...args: string[]) => runChatctl(sandbox, [...args, '--debug', ...form])
      const runs = [await signIn(sandbox, { server, service }, ['--scope', 'chat:write', '--debug', ...form])]
      collect()
      runs.push(await run('chat', 'models'), await run('auth', 'status'), await run('auth', 'list'))
      server.endAccessTokens()
      runs.push(await run('chat', 'models'))
      collect()
      expireCredential(sandbox)
      runs.push(await run('auth', 'status'), await run('doctor'), await run('config', 'list'))
      collect()
      for (const { exitCode, stderr } of runs) expect(exitCode, stderr).to.equal(0)
      const token = await run('auth', 'token')
      expect(token.stdout).to.contain(readCredential(sandbox).access_token)
      runs.push({ ...token, stdout: '' }, await run('auth', 'logout'))
      expectSilence(runs)
    })

  it('of a sign-in with an API key are never shown, whether the key is valid or not', async () => {
    secrets.add(key).add('canary-bad')
    const flags = [
      ...'--with-api-key -p other --base-url'.split(' '),
      service.url,
      '--insecure-storage',
      '--debug',
    ]
    const runs = [
      await storeKey(sandbox, key, service),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\n' }),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\u0007\n' }),
      await runChatctl(sandbox, ['auth', 'login', ...flags], { stdin: 'canary-bad\nX: y\n' }),
      await runChatctl(sandbox, ['auth', 'status', '--debug']),
    ]
    expect(runs.map(({ exitCode }) => exitCode === 0)).to.deep.equal([true, false, false, false, true])
    expectSilence(runs)
  })
})
