import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { IssuerKeys, UnreadableKeys } from '../../../src/service/oauth/trust/issuer-keys.ts'
import {
  type AuthorizationServer,
  openIdMetadata,
  startAuthorizationServer,
} from '../../support/authorization-server.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { perTest } from '../../support/lifetime.ts'
import {
  answer,
  type Behavior,
  json,
  redirect,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

const keysPath = '/jwks'

/** Sends 256 MiB, unless the client disconnects. */
const endless: Behavior = async (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const chunks = Array.from({ length: 4096 }, () => ' '.repeat(64 * 1024))
  await pipeline(Readable.from(chunks), response).catch(() => {})
}

/** Sends one byte at a time, and never the last. */
const drip: Behavior = async (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  while (!response.destroyed) {
    response.write(' ')
    await wait(5)
  }
}

const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }

/** Responses of both documents, with the reason. */
const both: Record<string, [Behavior, RegExp]> = {
  'status 500': [answer(500), /status 500/],
  HTML: [answer(200, { 'content-type': 'text/html' }, '<!doctype html><p>Sign in'), /a JSON object/],
  nothing: [answer(200), /a JSON object/],
  'a list': [json(200, []), /a JSON object/],
  null: [json(200, null), /a JSON object/],
  'a number': [json(200, 1), /a JSON object/],
  '256 MiB': [endless, /more than 64 KiB/],
  'one byte at a time': [drip, /within 0.3 s/],
  'a connection that is reset': [reset, /^No response from .*: connection reset$/],
}

const ofMetadata: Record<string, (issuer: AuthorizationServer) => object> = {
  'another issuer': ({ url }) => ({ issuer: `${url}/`, jwks_uri: url + keysPath }),
  'no issuer': ({ url }) => ({ jwks_uri: url + keysPath }),
  'no jwks_uri': ({ url }) => ({ issuer: url }),
  'a jwks_uri that is a list': ({ url }) => ({ issuer: url, jwks_uri: [url + keysPath] }),
  'a jwks_uri that is a file': ({ url }) => ({ issuer: url, jwks_uri: 'file:///etc/passwd' }),
  'a jwks_uri with plain HTTP to another machine': ({ url }) => ({
    issuer: url,
    jwks_uri: 'http://keys.example/jwks',
  }),
}

const ofKeys: Record<string, unknown> = {
  'keys that are an object': { keys: { 0: key } },
  'keys that are texts': { keys: ['key'] },
  '101 keys': { keys: Array.from({ length: 101 }, () => ({ kty: 'EC' })) },
  '10,000 keys': { keys: Array.from({ length: 10_000 }, () => key) },
  'no keys': {},
}

describe('the keys of an issuer', () => {
  const issuer = perTest(() => startAuthorizationServer({ metadataPath: openIdMetadata }))
  const clock = perTest(
    () => new SteppedClock(),
    () => {},
  )
  const find = (keys: IssuerKeys, isKeyUnknown?: boolean) => keys.find(issuer.url, isKeyUnknown)
  const failureOf = async (keys = new IssuerKeys(clock)): Promise<Error> => {
    try {
      await find(keys)
    } catch (error) {
      return error as Error
    }
    return expect.fail('the keys were read')
  }

  for (const [what, [fault, reason]] of Object.entries(both))
    for (const path of [openIdMetadata, keysPath])
      it(`cannot be read if ${path} responds with ${what}`, async () => {
        issuer.faults.set(path, fault)
        const failure = await failureOf(new IssuerKeys(clock, undefined, fault === drip ? 300 : undefined))
        expect(failure).to.be.instanceOf(UnreadableKeys)
        expect(failure.message)
          .to.include(issuer.url + path)
          .and.match(reason)
      })

  for (const [what, metadata] of Object.entries(ofMetadata))
    it(`cannot be read if the metadata has ${what}`, async () => {
      issuer.faults.set(openIdMetadata, (...request) => json(200, metadata(issuer))(...request))
      expect(await failureOf()).to.be.instanceOf(UnreadableKeys)
      expect(issuer.requests.map(({ path }) => path)).to.deep.equal([openIdMetadata])
    })

  for (const [what, body] of Object.entries(ofKeys))
    it(`cannot be read if the response has ${what}`, async () => {
      issuer.faults.set(keysPath, json(200, body))
      expect(await failureOf()).to.be.instanceOf(UnreadableKeys)
    })

  it('are not read with an untrusted certificate, also with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    await using stranger = await startScriptedServer(
      (...request) => json(200, { issuer: stranger.url, keys: [] })(...request),
      { certificate: makeCertificate('127.0.0.1') },
    )
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const reading = new IssuerKeys(clock, undefined, 300).find(stranger.url)
      expect(String(await reading.catch((error) => error))).to.match(
        /so nothing was sent: the certificate is self-signed/,
      )
      expect(stranger.requests).to.deep.equal([])
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    }
  })

  it('are not read from the target of a redirect', async () => {
    await using other = await startScriptedServer(json(200, { keys: issuer.published }))
    for (const path of [openIdMetadata, keysPath]) {
      issuer.faults.clear()
      issuer.faults.set(path, redirect(302, other.url))
      expect((await failureOf()).message).to.contain('status 302')
    }
    expect(other.requests).to.deep.equal([])
  })

  it('are read again after 10 minutes, or after one minute for an unknown key', async () => {
    const keys = new IssuerKeys(clock)
    const first = await find(keys)
    const reads = () => issuer.requests.filter(({ path }) => path === keysPath).length
    clock.pass(59_999)
    expect(await find(keys, true)).to.equal(first)
    clock.pass(1)
    expect(await find(keys)).to.equal(first)
    expect(reads()).to.equal(1)
    const second = await find(keys, true)
    expect(second).not.to.equal(first)
    clock.pass(10 * 60_000 - 1)
    expect(await find(keys)).to.equal(second)
    clock.pass(1)
    await find(keys)
    expect(reads()).to.equal(3)
  })

  it('are used until the ones for an unknown key have arrived, and if these cannot be read', async () => {
    const keys = new IssuerKeys(clock)
    const first = await find(keys)
    clock.pass(60_000)
    const [arrived, respond] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    issuer.faults.set(keysPath, async (...request) => {
      arrived.resolve()
      await respond.promise
      await answer(500)(...request)
    })
    const renewal = find(keys, true).catch((error: unknown) => error)
    await arrived.promise
    expect(await find(keys)).to.equal(first)
    respond.resolve()
    expect(await renewal).to.be.instanceOf(UnreadableKeys)
    expect(await find(keys)).to.equal(first)
    issuer.faults.clear()
    clock.pass(5_000)
    const second = await find(keys, true)
    expect(second).not.to.equal(first)
    expect(await find(keys)).to.equal(second)
  })

  it('are read once for requests at the same time, and again 5 s after a failure', async () => {
    const keys = new IssuerKeys(clock)
    issuer.faults.set(keysPath, answer(500))
    await Promise.all(Array.from({ length: 20 }, () => failureOf(keys)))
    clock.pass(4_999)
    await failureOf(keys)
    const reads = () => issuer.requests.filter(({ path }) => path === keysPath).length
    expect(reads()).to.equal(1)
    issuer.faults.clear()
    clock.pass(1)
    await find(keys)
    expect(reads()).to.equal(2)
  })
})
