import { expect } from 'chai'
import { expectNothingStored, expireCredential, readCredential } from '../../support/credential-files.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { enterCodeByHttp } from '../../support/sign-in-by-http.ts'
import { signInOnDevice } from '../../support/sign-in-on-device.ts'

describe('auth login --device at oidc-provider', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startOidcProvider)
  const service = perTest(() => startBearerService(server.isLive))

  it('stores the tokens when the user has entered the code, renews them, and revokes them', async () => {
    expect(
      await signInOnDevice(sandbox, { server, service }, async ({ verification_uri, user_code }) => {
        expect(await enterCodeByHttp(verification_uri, user_code)).to.contain('signed in on the device')
      }),
    ).to.include({ exitCode: 0 })
    expect(readCredential(sandbox)).to.include({ issuer: server.url, scope: 'chat:write' })
    expireCredential(sandbox)
    expect(await runChatctl(sandbox, ['chat', 'models'])).to.include({ exitCode: 0, stderr: '' })
    expect(server.count('refresh_token')).to.equal(1)
    expect(await runChatctl(sandbox, ['auth', 'logout'])).to.include({ exitCode: 0, stderr: '' })
    expect(server.revoked).to.have.length(1)
  })

  it('also stores them when the user has opened the address that contains the code', async () =>
    expect(
      await signInOnDevice(sandbox, { server, service }, ({ verification_uri_complete: complete }) =>
        enterCodeByHttp(complete ?? ''),
      ),
    ).to.include({ exitCode: 0 }))

  it('exits 4 and stores nothing when the user has denied the request', async () => {
    const run = await signInOnDevice(sandbox, { server, service }, ({ verification_uri, user_code }) =>
      enterCodeByHttp(verification_uri, user_code, { deny: true }),
    )
    expect(run.exitCode, run.stdout).to.equal(4)
    expect(JSON.parse(run.stderr).error).to.include({ code: 'access_denied' })
    expectNothingStored(sandbox)
  })
})
