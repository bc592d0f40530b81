import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { refusing, startAuthorizationServer } from '../../support/authorization-server.ts'
import { expireCredential, findCredentials, readCredential } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, delayed } from '../../support/scripted-server.ts'
import { signIn, storeKey } from '../../support/sign-in.ts'
import { describeSample } from '../../support/take-sample.ts'

describeSample('while another process refreshes the same token', 1, () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => token === 'key-1' || server.live.has(token)))
  let other: Promise<Run>
  /** Lets the token endpoint respond to the other process. */
  let release: () => void
  beforeEach(async () => {
    plantSignIn(sandbox, { server, service })
    expireCredential(sandbox)
    const { promise: released, resolve } = Promise.withResolvers<void>()
    release = resolve
    const held: Behavior = async (request, response, incoming) => {
      await released
      await server.tokens()(request, response, incoming)
    }
    server.script.token = [held, server.tokens()]
    other = runProgram(sandbox, ['chat', 'models'])
    while (server.refreshes().length === 0) await sleep(10)
  })

  it('auth logout removes the credential and revokes the refreshed token', async () => {
    const logout = runProgram(sandbox, ['auth', 'logout'])
    // Logout may run first or wait for the other process.
    await Promise.race([logout, sleep(1000)])
    release()
    expect(await logout).to.include({ exitCode: 0 })
    await other
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(server.revocations.map((form) => form.get('token'))).to.include(
      `refresh-token-${server.refreshes().length + 1}`,
    )
  })

  it('auth login stores an API key that the refresh does not overwrite', async () => {
    const login = storeKey(sandbox, 'key-1', service)
    await Promise.race([login, sleep(1000)])
    release()
    await login
    await other
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
  })

  it('auth list and auth status --no-verify do not wait', async () => {
    expect(await runProgram(sandbox, ['auth', 'list'])).to.include({ exitCode: 0 })
    expect(await runProgram(sandbox, ['auth', 'status', '--no-verify'])).to.include({ exitCode: 0 })
    release()
    expect(await other).to.include({ exitCode: 0 })
  })
})

const signInAgain = /^Hint: {2}Sign in again with: chatctl auth login (-p|--profile) work$/m

/** Uses oidc-provider, which ends the grant if a refresh token is used twice (RFC 9700 section 4.14.2). */
describeSample('concurrent processes that share a sign-in', 1, () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startOidcProvider)
  const service = perTest(() => startBearerService((token) => server.isLive(token)))
  beforeEach(async () => {
    await signIn(sandbox, { server, service })
  })

  for (const [what, rounds, end] of [
    ['an expired token', [1, 2], () => expireCredential(sandbox)],
    ['a token that the service no longer accepts', [1], () => server.endAccessTokens()],
  ] as const) {
    it(`refresh ${what} once, and all succeed`, async () => {
      for (const round of rounds) {
        end()
        const runs = await Promise.all(
          Array.from({ length: 8 }, () => runProgram(sandbox, ['chat', 'models'])),
        )
        for (const { exitCode, stderr } of runs)
          expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
        expect(server.count('refresh_token'), 'refreshes').to.equal(round)
        expect(server.count('refresh_token', 'refused')).to.equal(0)
      }
    })
  }

  it('all exit with code 4 and advise a new sign-in if the server has ended the grant', async () => {
    const { refresh_token = '' } = readCredential(sandbox)
    const body = new URLSearchParams({ client_id: server.clientId, token: refresh_token })
    await fetch(`${server.url}/oauth/revoke`, { method: 'POST', body })
    const runs = await Promise.all(Array.from({ length: 4 }, () => runProgram(sandbox, ['chat', 'models'])))
    for (const run of runs) expectFailure(run, 4, signInAgain)
  })
})

describe('a process that is killed while it refreshes a token', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  beforeEach(() => {
    plantSignIn(sandbox, { server, service })
    expireCredential(sandbox)
  })

  async function killOne(): Promise<void> {
    server.script.token = [delayed(5000, server.tokens())]
    const child = startBuilt(sandbox, ['chat', 'models'])
    while (server.refreshes().length === 0) await sleep(10)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
  }

  it('does not keep the next process from refreshing the token', async () => {
    await killOne()
    server.script.token = [server.tokens()]
    const before = Date.now()
    const next = await runProgram(sandbox, ['chat', 'models'], { timeout: 45_000 })
    expect(next.exitCode, next.stderr).to.equal(0)
    expect(Date.now() - before, 'milliseconds until the dead one was given up').to.be.below(30_000)
    expect(readCredential(sandbox).access_token).to.match(/^access-token-\d+$/)
    expect(await runProgram(sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
  })

  it('makes the next process advise a new sign-in if the refresh token was already used', async () => {
    await killOne()
    server.script.token = [refusing('invalid_grant')]
    const next = await runProgram(sandbox, ['chat', 'models'], { timeout: 45_000 })
    expectFailure(next, 4, signInAgain)
  })
})
