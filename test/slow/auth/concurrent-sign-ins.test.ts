import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  expireCredential,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import type { Behavior } from '../../support/scripted-server.ts'
import { storeKey } from '../../support/sign-in.ts'

describe('while another process refreshes the same token', () => {
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

describe('four concurrent runs of auth login', () => {
  it('store four profiles, each with its own key', async () => {
    const sandbox = createSandbox()
    const names = Array.from({ length: 4 }, (_, index) => `profile-${index}`)
    await using service = await startBearerService((token) => names.includes(token))
    await Promise.all(names.map((name) => storeKey(sandbox, name, service, name)))
    expect(Object.keys(readProfiles(sandbox).profiles ?? {}).sort()).to.deep.equal(names)
    expect(findCredentials(sandbox)).to.have.length(4)
    for (const name of ['profile-0', 'profile-3']) {
      const { stdout } = await runProgram(sandbox, ['auth', 'token', '-p', name])
      expect(stdout).to.equal(`${name}\n`)
    }
    sandbox.remove()
  })
})
