import { expect } from 'chai'
import { findCredentials } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

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
