import { expect } from 'chai'
import fc from 'fast-check'
import type { AuthorizationServer } from '../../../src/auth/authorization-server.ts'
import { requestDeviceCode } from '../../../src/auth/device-sign-in.ts'
import { Failure } from '../../../src/contract/failure.ts'
import { stripControls } from '../../../src/terminal/strip-controls.ts'

const server: AuthorizationServer = {
  issuer: 'https://login.example',
  sendsIssuer: false,
  authorizationEndpoint: 'https://login.example/authorize',
  tokenEndpoint: 'https://login.example/token',
  revocationEndpoint: undefined,
  grantTypes: undefined,
  deviceAuthorizationEndpoint: 'https://login.example/device',
  grantPerSignIn: false,
}

const request = (body: unknown) =>
  requestDeviceCode(server, 'https://login.example/device', { clientId: 'c', scope: undefined }, async () =>
    Response.json(body),
  )

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('WDJB-MJHT', 'https://a.example/d', '5'))
const value = fc.oneof(text, fc.double(), fc.integer(), fc.jsonValue(), fc.webUrl())

describe('a response of the device authorization endpoint', () => {
  it('is safe to show, or refused', () =>
    fc.assert(
      fc.asyncProperty(
        fc.record(
          {
            device_code: fc.oneof(fc.constant('secret'), value),
            user_code: fc.oneof(fc.constant('WDJB-MJHT'), value),
            verification_uri: fc.oneof(fc.webUrl(), value),
            verification_uri_complete: value,
            expires_in: value,
            interval: value,
          },
          { requiredKeys: ['device_code', 'user_code'] },
        ),
        async (body) => {
          const code = await request(body).catch((error: unknown) => {
            expect(error).to.be.instanceOf(Failure)
            return undefined
          })
          if (!code) return
          const { userCode, verificationUri, verificationUriComplete = verificationUri } = code
          for (const shown of [userCode, verificationUri, verificationUriComplete]) {
            expect(stripControls(shown)).to.equal(shown).and.not.to.equal('')
            expect(shown).to.have.length.at.most(10_000)
          }
          expect(new URL(verificationUri).protocol).to.match(/^https?:$/)
          expect(code.interval).to.be.within(1, Number.MAX_VALUE)
          if (code.expiresIn !== undefined)
            expect(code.expiresIn).to.be.within(Number.MIN_VALUE, Number.MAX_VALUE)
        },
      ),
    ))

  it('may have a user code of letters, digits, and signs of any script', async () => {
    const verification_uri = 'https://login.example/device'
    for (const user_code of ['WDJB-MJHT', '123 456 789', 'ĐÈ–×', 'a_b.c']) {
      expect(await request({ device_code: 'x', user_code, verification_uri })).to.include({
        userCode: user_code,
      })
    }
    for (const user_code of [' A', 'A ', 'A  B', 'A\tB', 'A\u00a0B', '\u200b', 'A\u0000']) {
      const refused = await request({ device_code: 'x', user_code, verification_uri }).catch((error) => error)
      expect(refused, JSON.stringify(user_code)).to.be.instanceOf(Failure)
    }
  })
})
