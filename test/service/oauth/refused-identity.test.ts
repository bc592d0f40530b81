import { createHmac, generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { exportJWK, exportSPKI, importJWK, type JWK, SignJWT, UnsecuredJWT } from 'jose'
import { answer } from '../../support/scripted-server.ts'
import { withService } from '../temporary-service.ts'
import { askForToken } from './flow.ts'
import {
  assertionType,
  audience,
  mainBranch,
  type TrustedService,
  withTrustedService,
} from './trusted-service.ts'

const withTrust = (use: (place: TrustedService) => Promise<void>) => withTrustedService(withService, use)

type Forge = (place: TrustedService) => Promise<string> | string

const now = ({ clock }: TrustedService) => Math.floor(clock.now() / 1000)

const claimsOf = (place: TrustedService) => ({
  ...{ iss: place.issuer.url, aud: audience, sub: mainBranch },
  ...{ iat: now(place), exp: now(place) + 300 },
})

const withClaims =
  (claims: (place: TrustedService) => object): Forge =>
  (place) =>
    place.identity(claims(place))

const withSubject = (sub: unknown) => withClaims(() => ({ sub }))

/** Signs with a key of a stranger. */
const signedByStranger = (header: (key: JWK) => object): Forge => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return async (place) =>
    new SignJWT(claimsOf(place))
      .setProtectedHeader({ alg: 'ES256', ...header(await exportJWK(publicKey)) })
      .sign(privateKey)
}

/** An HMAC whose secret is a public text of the issuer. */
const signedWithPublicKey = (secretOf: (key: JWK) => Promise<string> | string): Forge => {
  return async (place) => {
    const [key = {}] = place.issuer.published as JWK[]
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const signed = `${encode({ alg: 'HS256', kid: key.kid, typ: 'JWT' })}.${encode(claimsOf(place))}`
    return `${signed}.${createHmac('sha256', await secretOf(key))
      .update(signed)
      .digest('base64url')}`
  }
}

const changed =
  (change: (parts: string[]) => string[]): Forge =>
  async (place) =>
    change((await place.identity()).split('.')).join('.')

const header = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64url')

const untrusted = /no trust has this issuer/

/** Tokens that are refused, with the reason in the audit log. */
const refused: [string, Forge, RegExp][] = [
  ['another audience', withClaims(() => ({ aud: 'https://other.example' })), /"aud"/],
  ['an audience that only begins like it', withClaims(() => ({ aud: `${audience}.evil` })), /"aud"/],
  ['an audience with a slash', withClaims(() => ({ aud: `${audience}/` })), /"aud"/],
  ['a list of other audiences', withClaims(() => ({ aud: ['a', 'b'] })), /"aud"/],
  ['an audience that is a number', withClaims(() => ({ aud: 7 })), /"aud"/],
  ['the audience of a trust in another subject', withClaims(() => ({ aud: 'tags' })), /subject and audience/],
  ['no audience', withClaims(() => ({ aud: undefined })), /"aud"/],
  ['an expiry of 61 s ago', withClaims((place) => ({ exp: now(place) - 61 })), /"exp"/],
  ['no expiry', withClaims(() => ({ exp: undefined })), /"exp"/],
  ['an expiry that is a text', withClaims(() => ({ exp: '9999999999' })), /"exp"/],
  ['a beginning in 61 s', withClaims((place) => ({ nbf: now(place) + 61 })), /"nbf"/],
  ['a time of issue in 61 s', withClaims((place) => ({ iat: now(place) + 61 })), /"iat"/],
  ['a time of issue a day ago', withClaims((place) => ({ iat: now(place) - 86_461 })), /"iat"/],
  ['no time of issue', withClaims(() => ({ iat: undefined })), /"iat"/],
  ['no subject', withSubject(undefined), /"sub"/],
  ['a subject that is a number', withSubject(7), /subject/],
  ['another repository', withSubject('repo:acme/app-evil:ref:refs/heads/main'), /subject/],
  ['another branch', withSubject('repo:acme/app:ref:refs/heads/main2'), /subject/],
  ['a subject with a prefix', withSubject(`x${mainBranch}`), /subject/],
  ['a subject in another case', withSubject('repo:Acme/app:ref:refs/heads/main'), /subject/],
  ['a subject with a newline', withSubject(`${mainBranch}\n`), /control characters/],
  ['a tag with a newline', withSubject('repo:acme/app:ref:refs/tags/v1\n2'), /control characters/],
  ['a tag with a colon', withSubject('repo:acme/app:ref:refs/tags/a:b'), /subject/],
  ['an empty subject', withSubject(''), /subject/],
  ['an issuer with a slash', withClaims(({ issuer }) => ({ iss: `${issuer.url}/` })), untrusted],
  ['an issuer in capitals', withClaims(({ issuer }) => ({ iss: issuer.url.toUpperCase() })), untrusted],
  ['no issuer', withClaims(() => ({ iss: undefined })), untrusted],
  ['an issuer that is a list', withClaims(({ issuer }) => ({ iss: [issuer.url] })), untrusted],
  ['no signature (alg none)', (place) => new UnsecuredJWT(claimsOf(place)).encode(), /"alg"/],
  ['an empty signature', changed(([head = '', body = '']) => [head, body, '']), /signature/],
  ['a header with alg none', changed(([, ...rest]) => [header({ alg: 'none' }), ...rest]), /"alg"/],
  ['changed claims', changed(([head, body, sign]) => [`${head}`, `${body?.slice(0, -2)}AA`, `${sign}`]), /./],
  ['an HMAC with the public key as PEM', signedWithPublicKey(pemOf), /"alg"/],
  ['an HMAC with the public key as JWK', signedWithPublicKey((key) => JSON.stringify(key)), /"alg"/],
  ['an HMAC with a coordinate of the public key', signedWithPublicKey(({ x = '' }) => x), /"alg"/],
  ['the key of a stranger', signedByStranger(() => ({ kid: 'key-1' })), /signature/],
  ['the key of a stranger without its ID', signedByStranger(() => ({})), /signature/],
  ['the key of a stranger in the header', signedByStranger((jwk) => ({ jwk, kid: 'key-1' })), /signature/],
  ['an unknown key', signedByStranger(() => ({ kid: 'key-2' })), /key/],
  [
    'the address of other keys',
    signedByStranger(() => ({ jku: 'https://evil.example', kid: 'key-1' })),
    /sig/,
  ],
  [
    'a critical header',
    changed(([, ...rest]) => [header({ alg: 'ES256', crit: ['x'], x: 1 }), ...rest]),
    /"?x"?/,
  ],
  ['16,385 characters', () => 'x'.repeat(16_385), /16384/],
  ['no JWT', () => 'ck_not-a-jwt', /not a JWT/],
  ['five parts', () => 'a.b.c.d.e', /not a JWT/],
  ['a list as claims', () => `${header({ alg: 'ES256' })}.${header([1])}.x`, /JWT/],
]

async function pemOf(key: JWK): Promise<string> {
  return exportSPKI((await importJWK(key, 'ES256')) as CryptoKey)
}

/** Tokens at the limits of what is accepted. */
const accepted: [string, Forge][] = [
  ['a list of audiences', withClaims(() => ({ aud: ['other', audience] }))],
  ['an expiry of 59 s ago', withClaims((place) => ({ exp: now(place) - 59 }))],
  ['a beginning in 60 s', withClaims((place) => ({ nbf: now(place) + 60, iat: now(place) + 60 }))],
  ['a time of issue 24 hours ago', withClaims((place) => ({ iat: now(place) - 86_400 }))],
  ['a subject that matches a pattern', withSubject('repo:acme/app:ref:refs/tags/v1.2')],
]

describe('an identity token of an issuer', () => {
  it('is refused without a reason, which the audit log has', () =>
    withTrust(async (place) => {
      await place.trust()
      await place.trust({ name: 'tags', subject: 'repo:acme/app:ref:refs/tags/*' })
      await place.trust({ name: 'other', subject: 'repo:acme/app:ref:refs/tags/*', audience: 'tags' })
      for (const [what, forge, reason] of refused) {
        // One more refusal is recorded each minute.
        place.clock.pass(61_000)
        const { status, body } = await place.exchange(await forge(place))
        expect(status, what).to.equal(400)
        expect(body, what).to.deep.equal({
          error: 'invalid_request',
          error_description: 'the identity token was rejected',
        })
        const [entry] = await place.administration.listChanges({ action: 'trust.refused', limit: 1 })
        const after = entry?.after as { reason: string; address: string }
        expect(entry).to.include({ actor: 'anonymous', at: new Date(place.clock.now()).toISOString() }, what)
        expect(after.reason, what).to.match(reason)
        expect(after.address).to.equal('127.0.0.1')
      }
      for (const [what, forge] of accepted)
        expect((await place.exchange(await forge(place))).status, what).to.equal(200)
    }))

  it('does not hide the entries of a user whom a stranger names as the issuer', () =>
    withTrust(async ({ service, administration, exchange, identity }) => {
      const { body: user } = await service.call('POST', '/v1/users', {
        ...{ email: 'ada@example.com', password: 'correct horse battery' },
      })
      const { id: key } = await administration.createKey({ name: 'ci', tier: 'free', user: user.id })
      for (const iss of ['ada@example.com', key]) await exchange(await identity({ iss }))
      const actionsAt = async (target: string) =>
        (await administration.listChanges({ target, limit: 9 })).map(({ action }) => action)
      expect(await actionsAt('ada@example.com')).to.deep.equal(['user.create'])
      expect(await actionsAt(key)).to.include('key.create')
      const byStrangers = await administration.listChanges({ actor: 'anonymous', limit: 9 })
      expect(byStrangers.map(({ target }) => target)).to.deep.equal(['ada@example.com', key])
      expect(await administration.listChanges({ target: 'settings', limit: 9 })).to.deep.equal([])
    }))

  it('is refused as a client assertion with the error of RFC 7523', () =>
    withTrust(async ({ service, trust, identity }) => {
      await trust()
      const assertion = await identity({ aud: 'other' })
      const { status, body } = await askForToken(service.url, {
        ...{ grant_type: 'client_credentials', client_assertion_type: assertionType },
        client_assertion: assertion,
      })
      expect(status).to.equal(401)
      expect(body).to.deep.equal({
        error: 'invalid_client',
        error_description: 'the identity token was rejected',
      })
    }))

  it('is accepted with a new key of the issuer, and refused with an old one', () =>
    withTrust(async ({ issuer, trust, identity, exchange, clock }) => {
      await trust()
      const before = await identity({ exp: Math.floor(clock.now() / 1000) + 3_600 })
      expect((await exchange(before)).status).to.equal(200)
      clock.pass(60_000)
      await issuer.rotate()
      expect((await exchange(await identity())).status).to.equal(200)
      expect((await exchange(before)).status).to.equal(400)
    }))

  it('is neither accepted nor refused while the keys of the issuer cannot be read', () =>
    withTrust(async ({ issuer, administration, trust, identity, exchange, clock }) => {
      await trust()
      issuer.faults.set('/jwks', answer(500))
      const { status, body } = await exchange(await identity())
      expect(status).to.equal(503)
      expect(body.error).to.equal('temporarily_unavailable')
      expect(await administration.listChanges({ action: 'trust.refused', limit: 1 })).to.deep.equal([])
      issuer.faults.clear()
      clock.pass(5_000)
      expect((await exchange(await identity())).status).to.equal(200)
    }))

  it('makes the service read no keys unless its issuer is trusted', () =>
    withTrust(async ({ issuer, identity, exchange }) => {
      expect((await exchange(await identity())).status).to.equal(400)
      expect(issuer.requests).to.deep.equal([])
    }))

  it('fills the audit log with at most ten refusals of one network at the same time, each of limited size', () =>
    withTrust(async ({ administration, trust, identity, exchange, clock }) => {
      await trust()
      const flood = async () => {
        for (let index = 0; index < 30; index++) {
          const aud = Array.from({ length: 100 }, () => 'a'.repeat(100))
          const token = await identity({ sub: `\u0007${'s'.repeat(1_000)}`, aud, iss: 'x'.repeat(1_000) })
          expect((await exchange(token)).status).to.equal(400)
        }
        return administration.listChanges({ action: 'trust.refused', limit: 100 })
      }
      const entries = await flood()
      expect(entries).to.have.length(10)
      for (const entry of entries) expect(JSON.stringify(entry).length).to.be.below(2_000)
      clock.pass(60_000)
      expect(await flood()).to.have.length(11)
    }))
})
