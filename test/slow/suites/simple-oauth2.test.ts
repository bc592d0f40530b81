import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { AuthorizationCode } from 'simple-oauth2'
import { Browser } from '../../service/oauth/browser.ts'
import { createUser, getCode, redirectUri } from '../../service/oauth/flow.ts'
import { type TemporaryService, withService } from '../../service/temporary-service.ts'

describe('the embedded service, used by simple-oauth2', () => {
  const connect = ({ url: tokenHost }: TemporaryService) =>
    new AuthorizationCode({
      client: { id: 'chatctl', secret: '' },
      auth: { tokenHost, authorizePath: '/oauth/authorize' },
      // The client is public (RFC 6749 section 2.1), so it has no secret for a header.
      options: { authorizationMethod: 'body' },
      // By default, simple-oauth2 refuses the empty response body of a revocation (RFC 7009 section 2.2).
      http: { json: true },
    })

  /** simple-oauth2 knows no PKCE, but sends the parameters that it is given. */
  async function getTokens(client: AuthorizationCode) {
    const verifier = randomBytes(32).toString('base64url')
    const state = randomBytes(8).toString('hex')
    const request = {
      redirect_uri: redirectUri,
      scope: ['chat:write', 'settings:read'],
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    const parameters = await getCode(new Browser(), { url: client.authorizeURL(request), verifier, state })
    expect(parameters.get('state')).to.equal(state)
    const code = parameters.get('code') ?? ''
    const exchange = { code, redirect_uri: redirectUri, code_verifier: verifier }
    return client.getToken(exchange)
  }

  const profile = async ({ url }: TemporaryService, { access_token }: Record<string, unknown>) => {
    const headers = { authorization: `Bearer ${access_token}` }
    return (await fetch(`${url}/api/user/profile`, { headers })).status
  }

  const refusal = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'nothing was refused',
      // The failure of its HTTP client, with the response.
      (failure) => failure.data.payload.error,
    )

  it('issues tokens, renews them, and refuses a refresh token that was used before', () =>
    withService(async (service) => {
      await createUser(service)
      const first = await getTokens(connect(service))
      expect(first.expired()).to.equal(false)
      expect(first.token).to.include({ token_type: 'Bearer', scope: 'chat:write settings:read' })
      expect(await profile(service, first.token)).to.equal(200)
      const second = await first.refresh()
      expect(second.token['refresh_token']).not.to.equal(first.token['refresh_token'])
      expect(await profile(service, second.token)).to.equal(200)
      expect(await refusal(first.refresh())).to.equal('invalid_grant')
      // The second use of a refresh token ends the sign-in.
      expect(await profile(service, second.token)).to.equal(401)
    }))
})
