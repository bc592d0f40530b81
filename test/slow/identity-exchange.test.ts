import { expect } from 'chai'
import * as oauth from 'openid-client'
import {
  assertionType,
  mainBranch,
  type TrustedService,
  withTrustedService,
} from '../service/oauth/trusted-service.ts'
import { caller, withService } from '../service/temporary-service.ts'

const type = 'urn:ietf:params:oauth:token-type'

describe('the identity token of a CI job, which openid-client sends to the embedded service', () => {
  const withTrust = (use: (place: TrustedService, config: oauth.Configuration) => Promise<void>) =>
    withTrustedService(withService, async (place) => {
      await place.trust()
      const config = await oauth.discovery(new URL(place.service.url), 'chatctl', undefined, oauth.None(), {
        algorithm: 'oauth2',
        execute: [oauth.allowInsecureRequests],
      })
      return use(place, config)
    })

  const exchange = (config: oauth.Configuration, token: string) =>
    oauth.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:token-exchange', {
      subject_token: token,
      subject_token_type: `${type}:jwt`,
      requested_token_type: `${type}:access_token`,
    })
  const authenticate = (config: oauth.Configuration, token: string) =>
    oauth.clientCredentialsGrant(config, { client_assertion_type: assertionType, client_assertion: token })

  for (const [how, send, code] of [
    // RFC 8693 section 2.2.2.
    ['in a token exchange', exchange, 'invalid_request'],
    ['as the client assertion of client credentials', authenticate, 'invalid_client'],
  ] as const) {
    it(`results in an access token with the permissions of the trust: ${how}`, () =>
      withTrust(async ({ service, identity }, config) => {
        const tokens = await send(config, await identity())
        expect(tokens.token_type).to.equal('bearer')
        expect(tokens.expiresIn()).to.be.within(890, 900)
        expect(tokens.refresh_token).to.equal(undefined)
        const call = caller(service.url, tokens.access_token)
        expect((await call('GET', '/v1/settings')).status).to.equal(200)
        expect((await call('PATCH', '/v1/settings', { app_name: 'x' })).status).to.equal(403)
      }))

    it(`is refused with an error that openid-client reads if it is of another branch: ${how}`, () =>
      withTrust(async ({ identity }, config) => {
        const other = await identity({ sub: `${mainBranch}-2` })
        const failed = await send(config, other).catch((error: unknown) => error)
        expect(failed).to.be.instanceOf(oauth.ResponseBodyError)
        expect((failed as oauth.ResponseBodyError).error).to.equal(code)
      }))
  }
})
