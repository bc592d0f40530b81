import { expect } from 'chai'
import { startBearerService } from '../support/bearer-service.ts'
import { expectNothingStored, findCredentials, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import type { FaultServer } from '../support/fault-server.ts'
import { startLogin } from '../support/login-process.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signInByHttp } from '../support/sign-in-by-http.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

describe('a sign-in to an address, without a profile', () => {
  let server: TokenEndpoint
  let service: FaultServer
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = createSandbox()
    server = await startTokenEndpoint()
    service = await startBearerService((token) => server.live.has(token))
  })
  afterEach(async () => {
    sandbox.remove()
    await server.close()
    await service.close()
  })

  for (const [what, flags, env] of [
    ['--base-url', () => ['--base-url', service.url], () => ({})],
    ['--base-url, with a slash', () => ['--base-url', `${service.url}/`], () => ({})],
    ['CHATCTL_BASE_URL', () => [], () => ({ CHATCTL_BASE_URL: service.url })],
  ] as const) {
    it(`is one of the profile that has it, with all that this remembers: ${what}`, async () => {
      plantSignIn(sandbox, { server, service })
      const login = startLogin(sandbox, ['--no-browser', ...flags()], { env: env() })
      await signInByHttp((await login.address()).href)
      const { exitCode, stderr } = await login.ended
      expect(exitCode, stderr).to.equal(0)
      expect(server.tokenRequests[0]?.get('client_id')).to.equal(server.clientId)
      expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['work'])
      expect(findCredentials(sandbox)).to.have.length(1)
    })
  }

  it('is not one of a profile that has another address', async () => {
    plantSignIn(sandbox, { server, service })
    const flags = ['--no-browser', '--insecure-storage', '--base-url', `${service.url}/sub`]
    const run = await startLogin(sandbox, flags, { stdin: '' }).ended
    expectFailure(run, 3, '--auth-url')
  })

  for (const [what, host] of [
    ['is longer than one may be', `${'a'.repeat(60)}.${'b'.repeat(60)}.example`],
    ['every object has already', '__proto__'],
  ] as const) {
    it(`is refused where the profile would have a name that ${what}: exit 2`, async () => {
      const flags = ['--base-url', `https://${host}`, '--with-api-key', '--no-verify', '--insecure-storage']
      expectFailure(await startLogin(sandbox, flags, { stdin: 'key-1\n' }).ended, 2)
      expectNothingStored(sandbox)
    })
  }
})
