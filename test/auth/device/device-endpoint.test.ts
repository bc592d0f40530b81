import { expect } from 'chai'
import type { AuthorizationServer } from '../../../src/auth/authorization-server.ts'
import { requestDeviceCode } from '../../../src/auth/device-sign-in.ts'
import { Failure } from '../../../src/contract/failure.ts'

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

describe('a response of the device authorization endpoint', () => {
  it('may have a user code of letters, digits, and signs of any script', async () => {
    const verification_uri = 'https://login.example/device'
    for (const user_code of ['WDJB-MJHT', '123 456 789', 'ĐÈ–×', 'a_b.c'])
      expect(await request({ device_code: 'x', user_code, verification_uri })).to.include({
        userCode: user_code,
      })
    for (const user_code of [' A', 'A ', 'A  B', 'A\tB', 'A\u00a0B', '\u200b', 'A\u0000']) {
      const refused = await request({ device_code: 'x', user_code, verification_uri }).catch((error) => error)
      expect(refused, JSON.stringify(user_code)).to.be.instanceOf(Failure)
    }
  })
})
