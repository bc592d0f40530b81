import { expect } from 'chai'
import { findAuthorizationServer } from '../../src/auth/authorization-server.ts'
import { requestDeviceCode } from '../../src/auth/device-sign-in.ts'
import { failureOf } from '../client/capture.ts'

const issuer = 'https://login.example'
const plain = 'http://127.0.0.1:631/printers'

/** What the server with this issuer names in its metadata. */
function find(named: object, from = issuer) {
  const endpoints = { authorization_endpoint: `${from}/authorize`, token_endpoint: `${from}/token` }
  return findAuthorizationServer(from, undefined, async () =>
    Response.json({ issuer: from, ...endpoints, ...named }),
  )
}

describe('an authorization server on another machine', () => {
  for (const [endpoint, words] of [
    ['token_endpoint', 'token endpoint'],
    ['authorization_endpoint', 'authorization endpoint in the metadata'],
  ] as const)
    it(`cannot name a program of this machine as its ${words}`, async () => {
      const failure = await failureOf(find({ [endpoint]: plain }))
      expect(failure.kind).to.equal('refused')
      expect(failure.message).to.equal(
        `${issuer} names a program of this machine as its ${words}: http://127.0.0.1:631`,
      )
    })

  it('cannot name a program of this machine for the end of a sign-in, or for codes', async () => {
    const found = await find({ revocation_endpoint: plain, device_authorization_endpoint: plain })
    expect(found).to.deep.include({ revocationEndpoint: undefined, deviceAuthorizationEndpoint: undefined })
  })

  it('cannot open an address of a program of this machine in the browser', async () => {
    const code = { device_code: 'd', user_code: 'ABCD', expires_in: 60, verification_uri: plain }
    const request = requestDeviceCode(
      await find({}),
      `${issuer}/device`,
      { clientId: 'chatctl', scope: undefined },
      async () => Response.json(code),
    )
    expect((await failureOf(request)).message).to.contain('sent an unsafe address for the browser')
  })
})

describe('an authorization server on this machine', () => {
  for (const from of ['http://127.0.0.1:8787', 'https://localhost:8787'])
    it(`can name plain endpoints on it: ${from}`, async () =>
      expect(await find({ token_endpoint: plain }, from)).to.deep.include({ tokenEndpoint: plain }))
})
