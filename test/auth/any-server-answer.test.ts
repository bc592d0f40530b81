import { expect } from 'chai'
import fc from 'fast-check'
import { expireCredential, findCredentials } from '../support/credential-files.ts'
import { type Behavior, json } from '../support/fault-server.ts'
import { identityToken } from '../support/identity-token.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { loginFlags } from '../support/sign-in.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'
import { SkippingClock } from '../support/skipping-clock.ts'
import { refusing } from '../support/token-endpoint.ts'

const code = {
  device_code: 'canary-code',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://login.example/device',
  verification_uri_complete: 'https://login.example/device?user_code=WDJB-MJHT',
  expires_in: 30,
  interval: 5,
}
const tokens = {
  access_token: 'canary-access',
  refresh_token: 'canary-refresh',
  token_type: 'Bearer',
  expires_in: 60,
  scope: 'chat:read',
}
const refusal = { error: 'authorization_pending', error_description: 'No', error_uri: 'https://x.example' }

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '\u001b[31mx',
    '\u202ex',
    'slow_down',
    'access_denied',
    'mac',
    'file:///x',
    1e308,
    -1,
    1e-9,
  ),
)
const status = fc.constantFrom(200, 200, 200, 201, 204, 205, 304, 307, 400, 401, 403, 404, 429, 500, 503)

/** A response whose body differs from a correct one in some members. */
const responseLike = (body: object): fc.Arbitrary<Behavior> =>
  fc
    .tuple(
      status,
      fc.constantFrom(body, refusal),
      fc.dictionary(
        fc.constantFrom(...Object.keys({ ...body, ...refusal })),
        fc.option(value, { nil: undefined }),
        {
          maxKeys: 2,
        },
      ),
    )
    .map(([code, correct, wrong]) => json(code, { ...correct, ...wrong }))

describe('any response of an authorization server', function () {
  this.timeout(300_000)
  const world = makeSignInWorld()
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    runChatctl(world.sandbox, [...args, '--retries', '0'], { env, host: { clock: new SkippingClock() } })

  /** One of the documented exit codes, and neither a secret nor a control character. */
  function expectTruth({ exitCode, stdout, stderr }: Run): void {
    expect([0, 1, 2, 4, 69, 75], stderr).to.include(exitCode)
    expect(stdout + stderr).not.to.match(/canary|bug in chatctl|\[object/)
    expect(stderr.replaceAll('\n', '')).not.to.match(/\p{Cc}|\p{Bidi_Control}/u)
  }

  it('ends a sign-in on another device as documented, and shows no secret', () =>
    fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        responseLike(code),
        responseLike(tokens),
        async (isAtStart, start, poll) => {
          world.server.script.device = isAtStart ? start : json(200, code)
          world.server.script.token = [refusing('authorization_pending'), poll, world.server.tokens()]
          const signedIn = await run(['auth', 'login', ...loginFlags(world), '--device', '--no-verify'])
          expectTruth(signedIn)
          expect(findCredentials(world.sandbox)).to.have.length(signedIn.exitCode === 0 ? 1 : 0)
          await run(['auth', 'logout'])
        },
      ),
    ))

  it('ends a renewal as documented, and shows no secret', () =>
    fc.assert(
      fc.asyncProperty(responseLike(tokens), async (renewed) => {
        plantSignIn(world.sandbox, world)
        expireCredential(world.sandbox)
        world.server.script.token = [renewed]
        expectTruth(await run(['chat', 'models']))
        expect(findCredentials(world.sandbox)).to.have.length(1)
      }),
    ))

  it('ends the exchange of an identity token as documented, and shows no secret', () =>
    fc.assert(
      fc.asyncProperty(responseLike(tokens), async (exchanged) => {
        world.server.script.token = [exchanged]
        const { server, service } = world
        const addresses = { CHATCTL_BASE_URL: service.url, CHATCTL_AUTH_URL: server.url }
        const env = { ...addresses, CHATCTL_OIDC: 'gitlab', CHATCTL_ID_TOKEN: identityToken() }
        expectTruth(await run(['chat', 'models'], env))
      }),
    ))
})
