import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as oauth from 'oauth4webapi'
import { startService } from '../../../src/service/start-service.ts'
import { closing } from '../../support/lifetime.ts'
import { caller, equip, withDirectory, withService } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createUser, exchange, getCode, getTokens, redirectUri } from './flow.ts'

describe('the OAuth server of the embedded service', () => {
  it('describes itself (RFC 8414)', () =>
    withService(async ({ url }) => {
      const response = await fetch(`${url}/.well-known/oauth-authorization-server`)
      expect(response.headers.get('content-type')).to.equal('application/json')
      expect(await response.json()).to.deep.equal({
        issuer: url,
        authorization_endpoint: `${url}/oauth/authorize`,
        token_endpoint: `${url}/oauth/token`,
        revocation_endpoint: `${url}/oauth/revoke`,
        device_authorization_endpoint: `${url}/oauth/device_authorization`,
        scopes_supported: [
          ...['chat:read', 'chat:write', 'profile:write', 'settings:read', 'settings:write'],
          ...['users:read', 'users:write', 'admin'],
        ],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: [
          'authorization_code',
          'refresh_token',
          'urn:ietf:params:oauth:grant-type:device_code',
          'urn:ietf:params:oauth:grant-type:token-exchange',
          'client_credentials',
        ],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        chatctl_grant_per_sign_in: true,
        chatctl_streamed_completions: true,
      })
    }))

  it('uses the public URL as its issuer', () =>
    withService(
      async ({ url }) => {
        const { issuer } = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as {
          issuer: string
        }
        expect(issuer).to.equal('https://chat.example')
      },
      { publicUrl: 'https://chat.example/' },
    ))

  it('has no other endpoints', () =>
    withService(async ({ url }) => {
      for (const path of [
        '/jwks',
        '/me',
        '/.well-known/openid-configuration',
        '/oauth/other',
        '/session/end/confirm',
      ])
        expect((await fetch(url + path)).status, path).to.equal(404)
      expect((await fetch(`${url}/oauth/token`)).status).to.equal(404)
    }))

  it('works with an independent client library', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const insecure = { [oauth.allowInsecureRequests]: true }
      const issuer = new URL(service.url)
      const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
      const as = await oauth.processDiscoveryResponse(issuer, found)
      const client = { client_id: 'chatctl' }
      const verifier = oauth.generateRandomCodeVerifier()
      const state = oauth.generateRandomState()
      const address = new URL(as.authorization_endpoint ?? '')
      for (const [name, value] of Object.entries({
        ...{ client_id: 'chatctl', redirect_uri: redirectUri, response_type: 'code', state },
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }))
        address.searchParams.set(name, value)
      const answer = await getCode(new Browser(), { url: address.href, verifier, state })
      const parameters = oauth.validateAuthResponse(as, client, answer, state)
      const tokens = await oauth.processAuthorizationCodeResponse(
        as,
        client,
        await oauth.authorizationCodeGrantRequest(
          as,
          client,
          oauth.None(),
          parameters,
          redirectUri,
          verifier,
          insecure,
        ),
      )
      expect(tokens.scope).to.equal('chat:write')
      const profile = await oauth.protectedResourceRequest(
        tokens.access_token,
        'GET',
        new URL('/api/user/profile', service.url),
        undefined,
        undefined,
        insecure,
      )
      expect(await profile.json()).to.include({ id })
      const renewed = await oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token ?? '', insecure),
      )
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(as, client, oauth.None(), renewed.refresh_token ?? '', insecure),
      )
      const { status } = await caller(service.url, renewed.access_token)('GET', '/api/user/profile')
      expect(status).to.equal(401)
    }))

  it('stores no token, code, cookie, or id that a reader of the data could use', () =>
    withDirectory(async (directory) => {
      await using service = closing(equip(await startService({ dataDir: directory })))
      await createUser(service)
      const browser = new Browser()
      const seen: string[] = []
      const real = browser.send.bind(browser)
      browser.send = async (address, init) => {
        const shown = await real(address, init)
        seen.push(
          ...[...new URL(address).pathname.matchAll(/\/(?:sign-in|authorize)\/([\w-]{20,})/g)].map(
            ([, id = '']) => id,
          ),
        )
        seen.push(...[...browser.cookies.values()].map(({ value }) => value))
        return shown
      }
      const request = askForCode(service.url)
      const code = (await getCode(browser, request)).get('code') ?? ''
      const { body } = await exchange(service.url, code, request.verifier)
      const open = await getTokens(service.url, { browser })
      // A sign-in that has not ended yet.
      await browser.open(askForCode(service.url, { prompt: 'login' }).url)
      seen.push(
        code,
        body.access_token,
        body.refresh_token,
        open.access_token,
        open.refresh_token,
        request.verifier,
      )
      const secrets = [...new Set(seen)].filter((secret) => secret.length >= 20)
      expect(secrets.length).to.be.above(10)
      const data = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'latin1'))
      for (const secret of secrets)
        expect(
          data.some((bytes) => bytes.includes(secret)),
          secret,
        ).to.equal(false)
    }))
})
