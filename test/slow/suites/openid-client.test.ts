import { expect } from 'chai'
import * as oauth from 'openid-client'
import { Browser } from '../../service/oauth/browser.ts'
import { createUser, redirectUri, signIn } from '../../service/oauth/flow.ts'
import { type TemporaryService, withService } from '../../service/temporary-service.ts'

/** A sign-in that openid-client has started. */
interface Begun {
  address: URL
  checks: { pkceCodeVerifier: string; expectedState: string }
}

describe('the embedded service, used by openid-client', () => {
  const discover = ({ url }: TemporaryService) =>
    oauth.discovery(new URL(url), 'chatctl', undefined, oauth.None(), {
      algorithm: 'oauth2',
      execute: [oauth.allowInsecureRequests],
    })

  async function begin(config: oauth.Configuration, more: Record<string, string> = {}): Promise<Begun> {
    const pkceCodeVerifier = oauth.randomPKCECodeVerifier()
    const expectedState = oauth.randomState()
    const address = oauth.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'chat:write',
      code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      ...more,
    })
    return { address, checks: { pkceCodeVerifier, expectedState } }
  }

  /**
   * The user signs in if the browser has no session, and allows or denies the request. @returns where the
   * browser is redirected
   */
  async function decide(browser: Browser, { address }: Begun, decision = 'allow'): Promise<URL> {
    let page = await browser.open(address.href)
    if (page.text.includes('name="password"')) page = await signIn(browser, page)
    return new URL((await browser.submit(page, { decision })).url)
  }

  async function getTokens(config: oauth.Configuration, browser = new Browser()) {
    const begun = await begin(config)
    return oauth.authorizationCodeGrant(config, await decide(browser, begun), begun.checks)
  }

  const statusOf = async (config: oauth.Configuration, { url }: TemporaryService, token: string) => {
    const address = new URL('/api/user/profile', url)
    try {
      return (await oauth.fetchProtectedResource(config, token, address, 'GET')).status
    } catch (error) {
      // RFC 6750 section 3: a rejected token gets a challenge.
      if (error instanceof oauth.WWWAuthenticateChallengeError) return error.status
      throw error
    }
  }

  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'nothing was refused',
      (error) => (error instanceof oauth.ResponseBodyError ? error.error : error.code),
    )

  it('provides metadata, which announces PKCE', () =>
    withService(async (service) => {
      const metadata = (await discover(service)).serverMetadata()
      expect(metadata.supportsPKCE()).to.equal(true)
      expect(metadata).to.include({
        issuer: service.url,
        token_endpoint: `${service.url}/oauth/token`,
        revocation_endpoint: `${service.url}/oauth/revoke`,
        device_authorization_endpoint: `${service.url}/oauth/device_authorization`,
      })
    }))

  /** With a user, and openid-client as its client. */
  const withClient = (use: (config: oauth.Configuration, service: TemporaryService) => Promise<void>) =>
    withService(async (service) => {
      await createUser(service)
      await use(await discover(service), service)
    })

  it('issues a code and tokens, renews the tokens, and revokes them', () =>
    withClient(async (config, service) => {
      const tokens = await getTokens(config)
      expect(tokens.token_type).to.equal('bearer')
      expect(tokens.scope).to.equal('chat:write')
      expect(tokens.expiresIn()).to.be.within(3_590, 3_600)
      expect(await statusOf(config, service, tokens.access_token)).to.equal(200)

      const renewed = await oauth.refreshTokenGrant(config, tokens.refresh_token ?? '')
      expect(renewed.refresh_token).not.to.equal(tokens.refresh_token)
      expect(await statusOf(config, service, renewed.access_token)).to.equal(200)

      await oauth.tokenRevocation(config, renewed.refresh_token ?? '')
      expect(await statusOf(config, service, renewed.access_token)).to.equal(401)
      const again = oauth.refreshTokenGrant(config, renewed.refresh_token ?? '')
      expect(await refusal(again)).to.equal('invalid_grant')
      await oauth.tokenRevocation(config, renewed.refresh_token ?? '')
    }))

  it('revokes one of two sign-ins of a browser and keeps the other', () =>
    withClient(async (config, service) => {
      const browser = new Browser()
      const first = await getTokens(config, browser)
      const second = await getTokens(config, browser)
      await oauth.tokenRevocation(config, first.access_token, { token_type_hint: 'access_token' })
      expect(await statusOf(config, service, first.access_token)).to.equal(401)
      expect(await statusOf(config, service, second.access_token)).to.equal(200)
      await oauth.refreshTokenGrant(config, second.refresh_token ?? '')
    }))

  it('ends a sign-in if its refresh token is used twice', () =>
    withClient(async (config, service) => {
      const tokens = await getTokens(config)
      const renewed = await oauth.refreshTokenGrant(config, tokens.refresh_token ?? '')
      const replay = oauth.refreshTokenGrant(config, tokens.refresh_token ?? '')
      expect(await refusal(replay)).to.equal('invalid_grant')
      expect(await statusOf(config, service, renewed.access_token)).to.equal(401)
    }))

  it('rejects a code with another verifier, and a code that was used before', () =>
    withClient(async (config) => {
      const begun = await begin(config)
      const callback = await decide(new Browser(), begun)
      const other = { ...begun.checks, pkceCodeVerifier: oauth.randomPKCECodeVerifier() }
      expect(await refusal(oauth.authorizationCodeGrant(config, callback, other))).to.equal('invalid_grant')
      const good = await begin(config)
      const once = await decide(new Browser(), good)
      await oauth.authorizationCodeGrant(config, once, good.checks)
      const twice = oauth.authorizationCodeGrant(config, once, good.checks)
      expect(await refusal(twice)).to.equal('invalid_grant')
    }))

  it('returns state and issuer, so that openid-client detects a wrong one', () =>
    withClient(async (config) => {
      const begun = await begin(config)
      const callback = await decide(new Browser(), begun)
      for (const [name, value] of [
        ['state', 'another'],
        ['iss', 'https://attacker.example'],
      ] as const) {
        const changed = new URL(callback)
        changed.searchParams.set(name, value)
        const grant = oauth.authorizationCodeGrant(config, changed, begun.checks)
        expect(await refusal(grant), name).to.equal('OAUTH_INVALID_RESPONSE')
      }
    }))

  it('returns an error to the client if the user denies the request or the scope is unknown', () =>
    withClient(async (config) => {
      const denied = await begin(config)
      const unknown = await begin(config, { scope: 'no:such' })
      for (const [begun, callback, error] of [
        [denied, await decide(new Browser(), denied, 'deny'), 'access_denied'],
        [unknown, new URL((await new Browser().open(unknown.address.href)).url), 'invalid_scope'],
      ] as const) {
        const failed = await oauth
          .authorizationCodeGrant(config, callback, begun.checks)
          .catch((failure: unknown) => failure)
        expect(failed).to.be.instanceOf(oauth.AuthorizationResponseError)
        expect((failed as oauth.AuthorizationResponseError).error).to.equal(error)
      }
    }))

  /** The user enters the code and decides. @returns what the program receives */
  async function signInOnDevice(config: oauth.Configuration, decision: 'allow' | 'deny') {
    const response = await oauth.initiateDeviceAuthorization(config, { scope: 'chat:write' })
    const browser = new Browser()
    const page = await signIn(browser, await browser.open(response.verification_uri_complete ?? ''))
    const consent = await browser.submit(page, { user_code: response.user_code })
    expect((await browser.submit(consent, { decision })).status).to.equal(200)
    // The user has decided, so the first poll may come immediately.
    return oauth.pollDeviceAuthorizationGrant(config, { ...response, interval: 0 })
  }

  it('issues tokens to a program on another device after the user has entered its code', () =>
    withClient(async (config, service) => {
      const tokens = await signInOnDevice(config, 'allow')
      expect(tokens.scope).to.equal('chat:write')
      expect(await statusOf(config, service, tokens.access_token)).to.equal(200)
      const renewed = await oauth.refreshTokenGrant(config, tokens.refresh_token ?? '')
      await oauth.tokenRevocation(config, renewed.refresh_token ?? '')
      expect(await statusOf(config, service, renewed.access_token)).to.equal(401)
    }))

  it('tells a program on another device that the user has denied the request', () =>
    withClient(async (config) => {
      expect(await refusal(signInOnDevice(config, 'deny'))).to.equal('access_denied')
    }))
})
