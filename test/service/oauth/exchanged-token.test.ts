import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { closing } from '../../support/lifetime.ts'
import { takesEffect } from '../take-effect.ts'
import { caller, equip, onEachEngine, type WithService } from '../temporary-service.ts'
import { createUser, getTokens, refresh, type TokenResponse } from './flow.ts'
import { exchangeAt, type TrustedService, withTrustedService } from './trusted-service.ts'

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/** With a function that creates an API key of the built-in admin. */
type Place = TrustedService & { createKey(changes?: object): Promise<{ id: string; key: string }> }

const reduce = (url: string, token: string, fields: Record<string, string> = {}): Promise<TokenResponse> =>
  exchangeAt(url, token, { subject_token_type: accessToken, ...fields })

/** A token that may read chats. */
async function readerOf(url: string, token: string): Promise<string> {
  const { status, body } = await reduce(url, token, { scope: 'read:chat' })
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.access_token
}

const statusOf = async (url: string, token: string, path = '/api/chat/history') =>
  (await caller(url, token)('GET', path)).status

const revoke = (url: string, token: string) =>
  fetch(`${url}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ client_id: 'chatctl', token }) })

onEachEngine('a token that is exchanged for another credential', (withService: WithService, engine) => {
  const withPlace = (use: (place: Place) => Promise<void>) =>
    withTrustedService(withService, (place) => {
      const createKey = (changes = {}) =>
        place.administration.createKey({ name: 'laptop', tier: 'pro', ...changes })
      return use({ ...place, createKey })
    })

  it('has exactly the requested permissions and lifetime', () =>
    withPlace(async ({ service: { url }, createKey, clock }) => {
      const { key } = await createKey()
      const { status, body } = await reduce(url, key, { scope: 'read:chat', requested_expires_in: '60' })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.deep.equal({
        ...{ access_token: body.access_token, token_type: 'Bearer', issued_token_type: accessToken },
        ...{ expires_in: 60, scope: 'read:chat' },
      })
      expect(body.access_token).to.match(/^ct_/)
      const call = caller(url, body.access_token)
      const profile = await call('GET', '/api/user/profile')
      expect(profile.body.id).to.equal('usr_admin')
      expect(profile.headers.get('x-credential-expires-at')).to.equal('2026-03-01T12:01:00.000Z')
      expect((await call('GET', '/api/chat/history')).status).to.equal(200)
      const refused = await call('GET', '/v1/settings')
      expect(refused.status).to.equal(403)
      expect(refused.body.error.message).to.match(/: the access token does not have it$/)
      clock.pass(59_999)
      expect((await call('GET', '/api/chat/history')).status).to.equal(200)
      clock.pass(1)
      expect((await call('GET', '/api/chat/history')).status).to.equal(401)
    }))

  it('has at most the permissions of the credential, which are named in a refusal', () =>
    withPlace(async ({ service: { url }, administration, createKey }) => {
      const { key } = await createKey({ permissions: ['read:chat', '*:settings'] })
      const granted = async (scope?: string) => {
        const { status, body } = await reduce(url, key, scope === undefined ? {} : { scope })
        return status === 200 ? body.scope : `${body.error}: ${body.error_description}`
      }
      expect(await granted('read:settings chat:read')).to.equal('read:settings chat:read')
      expect(await granted('*:chat')).to.equal('read:chat')
      expect(await granted()).to.equal(undefined)
      const [last] = await administration.listChanges({ limit: 1 })
      const all = ['*:settings', 'read:chat', 'read:profile']
      expect(last?.after).to.have.deep.property('permissions').with.members(all)
      for (const name of ['write:chat', 'users:write', '*:users'])
        expect(await granted(`read:chat ${name}`)).to.equal(
          `invalid_scope: the credential does not have ${name}`,
        )
      for (const name of ['read:everything', 'constructor', '*:chat:x'])
        expect(await granted(name)).to.equal(`invalid_scope: unknown scope or permission ${name}`)
    }))

  it('lives an hour by default, at most 12 hours, and not longer than the credential', () =>
    withPlace(async ({ service: { url }, createKey }) => {
      const { key } = await createKey()
      const left = async (of: string, requested_expires_in?: string) => {
        const { body } = await reduce(
          url,
          of,
          requested_expires_in === undefined ? {} : { requested_expires_in },
        )
        return body.expires_in ?? body.error_description
      }
      expect(await left(key)).to.equal(3600)
      expect(await left(key, '43200')).to.equal(43_200)
      for (const wrong of ['43201', '0', '-1', '1.5', '1h'])
        expect(await left(key, wrong)).to.equal('requested_expires_in must be 1 to 43200 seconds (12 hours)')
      const short = await createKey({ name: 'short', expiresAt: '2026-03-01T12:10:00.000Z' })
      expect(await left(short.key, '3600')).to.equal(600)
    }))

  it('follows later changes of its API key: its limit, its permissions, and its end', () =>
    withPlace(async ({ service: { url }, administration, createKey, clock }) => {
      const { id, key } = await createKey()
      const token = (await reduce(url, key)).body.access_token
      const limit = async () =>
        (await caller(url, token)('GET', '/api/chat/history')).headers.get('ratelimit-policy')
      expect(await limit()).to.include('q=1000;')
      await administration.updateKey(id, { tier: 'free', permissions: ['read:chat'] })
      await takesEffect(engine, async () => {
        expect(await limit()).to.include('q=100;')
        expect(await statusOf(url, token, '/v1/settings')).to.equal(403)
      })
      await administration.updateKey(id, { expiresAt: '2026-03-01T12:10:00.000Z' })
      clock.pass(600_000)
      await takesEffect(engine, async () => {
        expect(await statusOf(url, token)).to.equal(401)
      })
    }))

  it('shares the hourly limit, the last use, and the name in the audit log with its API key', () =>
    withPlace(async ({ service: { url }, administration, createKey, clock }) => {
      const { id, key } = await createKey({ tier: 'enterprise', limit: 2 })
      const token = (await reduce(url, key)).body.access_token
      clock.pass(60_000)
      expect((await caller(url, token)('PATCH', '/v1/settings', { app_name: 'x' })).status).to.equal(200)
      await takesEffect(engine, async () => {
        const [listed, ...others] = await administration.listKeys()
        expect(listed).to.include({ id, last_used_at: '2026-03-01T12:01:00.000Z' })
        expect(others).to.deep.equal([])
      })
      expect(await statusOf(url, key)).to.equal(200)
      expect(await statusOf(url, token)).to.equal(429)
      expect(await statusOf(url, key)).to.equal(429)
      const entries = await administration.listChanges({ limit: 10 })
      expect(entries.map(({ action, key_id }) => [action, key_id])).to.deep.equal([
        ['key.create', null],
        ['token.exchanged', id],
        ['settings.update', id],
      ])
      expect(entries[1]).to.deep.include({ actor: 'usr_admin', target: id })
      expect(entries[1]?.after).to.deep.equal({
        permissions: ['*:*'],
        expires_at: '2026-03-01T13:00:00.000Z',
      })
      expect(JSON.stringify(entries)).not.to.include(token.slice(3, 12))
      expect((await administration.status()).keys).to.equal(1)
    }))

  it('ends when its API key is revoked or rotated, in other processes too', () =>
    withPlace(async ({ service, administration, createKey, clock }) => {
      await using neighbor = closing(equip(await startService({ ...service.place, clock })))
      for (const end of ['revokeKey', 'rotateKey'] as const) {
        const { id, key } = await createKey({ name: end })
        const token = await readerOf(service.url, key)
        for (const { url } of [service, neighbor]) expect(await statusOf(url, token)).to.equal(200)
        await (end === 'revokeKey'
          ? administration.revokeKey(id)
          : administration.rotateKey(id, { overlap: 0 }))
        await takesEffect(engine, async () => {
          for (const { url } of [service, neighbor]) expect(await statusOf(url, token), end).to.equal(401)
        })
      }
    }))

  it('ends with the sign-in from which it came, however that ends, and outlives a renewal', () =>
    withPlace(async ({ service, administration }) => {
      const { url } = service
      await createUser(service)
      const ends: Record<
        string,
        (tokens: { access_token: string; refresh_token: string }) => Promise<unknown>
      > = {
        'sign-out': ({ refresh_token: token }) => revoke(url, token),
        'revoked session': async () => {
          // The order of the list is random, and the programs of a browser end with its session.
          for (const { id } of await administration.listSessions())
            await administration.revokeSession(id).catch((error) => expect(error.kind).to.equal('not_found'))
        },
        'password reset': () => administration.resetAccount('ada@example.com', 'another long password'),
      }
      for (const [how, end] of Object.entries(ends)) {
        const tokens = await getTokens(url)
        const token = await readerOf(url, tokens.access_token)
        const { body: renewed } = await refresh(url, tokens.refresh_token)
        expect(await statusOf(url, token)).to.equal(200)
        await end(renewed)
        expect(await statusOf(url, token), how).to.equal(401)
      }
    }))

  it('ends with the access token of a trust from which it came, and with the trust', () =>
    withTrustedService(
      withService,
      async ({ service: { url }, administration, trust, identity, exchange }) => {
        await trust({ permissions: ['read:chat'] })
        const [one, other] = [await exchange(await identity()), await exchange(await identity())]
        const [first, second] = [
          await readerOf(url, one.body.access_token),
          await readerOf(url, other.body.access_token),
        ]
        await revoke(url, one.body.access_token)
        expect([await statusOf(url, first), await statusOf(url, second)]).to.deep.equal([401, 200])
        const [last] = await administration.listChanges({ action: 'token.exchanged', limit: 1 })
        expect(last).to.include({ key_id: 'trust:deploy', target: 'trust:deploy' })
        await administration.revokeTrust('deploy')
        await takesEffect(engine, async () => {
          expect(await statusOf(url, second)).to.equal(401)
        })
      },
    ))

  it('cannot be exchanged again, ends when it is revoked, and ends no other credential', () =>
    withPlace(async ({ service: { url }, createKey }) => {
      const { key } = await createKey()
      const [token, other] = [await readerOf(url, key), await readerOf(url, key)]
      const again = await reduce(url, token)
      expect(again.body.error_description).to.equal('this token cannot be exchanged again')
      for (const unknown of ['ck_unknown', `ct_${'x'.repeat(43)}`, 'other']) {
        const { status, body } = await reduce(url, unknown)
        expect(status).to.equal(400)
        expect(body.error).to.equal('invalid_request')
        expect(body.error_description).to.equal('the subject token is unknown, revoked, or expired')
      }
      expect((await revoke(url, token)).status).to.equal(200)
      expect([await statusOf(url, token), await statusOf(url, other)]).to.deep.equal([401, 200])
      expect(await statusOf(url, key)).to.equal(200)
    }))
})
