import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { editProfile, findCredentials, readCredential } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  delayed,
  failing,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'

describe('a sign-in that is no longer used', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() =>
    startBearerService((token) => token.startsWith('key-') || server.live.has(token)),
  )

  const revoked = () => server.revocations.map((form) => form.get('token'))
  const grantPerSignIn = () => {
    server.script.metadata = (document) => ({ ...document, chatctl_grant_per_sign_in: true })
  }
  const signOutFirst = 'sign out first: chatctl auth logout --profile work'

  /** Signs in, whatever the outcome is. */
  async function tryToSignIn(at: { url: string } = service, ...more: string[]): Promise<Run> {
    const login = startLogin(sandbox, [...loginFlags({ server, service: at }), '--no-browser', ...more])
    await signInByHttp((await login.address()).href)
    return login.ended
  }

  describe('because another one replaces it', () => {
    it('is revoked if the server keeps one grant for each sign-in', async () => {
      grantPerSignIn()
      await signIn(sandbox, { server, service })
      const again = await signIn(sandbox, { server, service })
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(again.stderr).not.to.contain('valid')
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-2')
    })

    it('is not revoked if that could end the new sign-in, and stderr says that it may stay valid', async () => {
      await signIn(sandbox, { server, service })
      const again = await signIn(sandbox, { server, service })
      expect(revoked()).to.deep.equal([])
      expect(again.stderr).to.contain(`The earlier sign-in may stay valid at ${server.url}`)
      expect(again.stderr).to.contain(signOutFirst)
    })

    it('is revoked if an API key replaces it', async () => {
      plantSignIn(sandbox, { server, service })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(stderr).not.to.contain('valid')
    })

    it('is not revoked for an API key if that could end the sign-in of another profile', async () => {
      plantSignIn(sandbox, { server, service })
      await signIn(sandbox, { server, service }, [], { profile: 'other' })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(revoked()).to.deep.equal([])
      expect(stderr).to.contain('could end another sign-in')
    })

    it('is reported as perhaps still valid if the server has no revocation endpoint', async () => {
      server.script.metadata = (document) => ({ ...document, revocation_endpoint: undefined })
      await signIn(sandbox, { server, service })
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(stderr).to.contain(`The earlier sign-in may stay valid at ${server.url}`)
    })

    it('is reported as perhaps still valid if its revocation fails, and the new credential is stored', async () => {
      plantSignIn(sandbox, { server, service })
      server.script.revoke = answer(503)
      const { stderr } = await storeKey(sandbox, 'key-1', service)
      expect(stderr).to.match(/^Warning: The earlier sign-in may stay valid at .*503/m)
      expect(readCredential(sandbox)).to.include({ kind: 'api_key' })
    })
  })

  describe('because the service refuses it', () => {
    const forbidding = perTest(() => startScriptedServer((...all) => serve(...all)))
    let serve: Behavior
    beforeEach(() => {
      serve = failing(403, 'forbidden', 'no')
    })

    it('is revoked and not stored: exit 5', async () => {
      expectFailure(await tryToSignIn(forbidding), 5)
      expect(revoked()).to.deep.equal(['refresh-token-1'])
      expect(findCredentials(sandbox)).to.deep.equal([])
    })

    it('is not revoked if that could end the stored one, and stderr says that it may stay valid', async () => {
      plantSignIn(sandbox, { server, service })
      const run = await tryToSignIn(forbidding)
      expectFailure(run, 5, `The new sign-in may stay valid at ${server.url}`, signOutFirst)
      expect(revoked()).to.deep.equal([])
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-1')
    })

    it('is revoked without the stored one if the server keeps one grant for each sign-in', async () => {
      grantPerSignIn()
      plantSignIn(sandbox, { server, service })
      expectFailure(await tryToSignIn(forbidding), 5)
      expect(revoked()).to.deep.equal(['refresh-token-2'])
      expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-1')
    })

    it('is revoked after Ctrl-C during the request to the service: exit 130', async () => {
      serve = delayed(15_000, answer(200))
      const login = startLogin(sandbox, [...loginFlags({ server, service: forbidding }), '--no-browser'])
      const page = signInByHttp((await login.address()).href)
      while (forbidding.requests.length < 1) await new Promise((resolve) => setTimeout(resolve, 10))
      login.interrupt('SIGINT')
      expect(await login.ended).to.include({ exitCode: 130 })
      await page
      expect(revoked()).to.deep.equal(['refresh-token-1'])
    })
  })

  it('because it cannot be stored is revoked: exit 2', async () => {
    const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'])
    const address = await login.address()
    // Only now, because chatctl tries whether it can store the sign-in before it opens the browser.
    const directory = join(sandbox.home, '.config', 'chatctl', 'config.json')
    mkdirSync(directory)
    await signInByHttp(address.href)
    expectFailure(await login.ended, 2, 'config.json')
    expect(revoked()).to.deep.equal(['refresh-token-1'])
    expect(findCredentials(sandbox)).to.deep.equal([])
    rmSync(directory, { recursive: true })
  })
})

describe('an API key that another one replaces', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  beforeEach(() => storeKey(sandbox, 'key-1', service))

  it('is reported as perhaps still valid', async () => {
    const { stderr } = await storeKey(sandbox, 'key-2', service)
    expect(stderr).to.contain(`The key that was stored before may stay valid at ${service.url}`)
  })

  it('is deleted if it was stored for another address, whatever address the profile has now', async () => {
    await using other = await startBearerService(() => true)
    editProfile(sandbox, 'work', { base_url: 'https://between.example' })
    await storeKey(sandbox, 'key-2', other)
    expect(readCredential(sandbox)).to.include({ key: 'key-2' })
  })
})
