import { expect } from 'chai'
import { issueToken, revokeToken } from '../../../src/service/domain/access/trusts.ts'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { closing } from '../../support/lifetime.ts'
import { takesEffect } from '../take-effect.ts'
import { caller, equip, onEachEngine, withService as withSqliteService } from '../temporary-service.ts'
import { askForToken } from './flow.ts'
import {
  assertionType,
  exchangeAt,
  mainBranch,
  type TrustedService,
  withTrustedService,
} from './trusted-service.ts'

const withSqliteTrust = (use: (place: TrustedService) => Promise<void>) =>
  withTrustedService(withSqliteService, use)

const askWithAssertion = (url: string, assertion: string, fields: Record<string, string> = {}) =>
  askForToken(url, {
    ...{
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: assertion,
    },
    ...fields,
  })

onEachEngine('an identity token of a trusted issuer', (withService, engine) => {
  const withTrust = (use: (place: TrustedService) => Promise<void>) => withTrustedService(withService, use)

  it('is exchanged for an access token with exactly the permissions of the trust', () =>
    withTrust(async ({ service, trust, identity, exchange, clock }) => {
      await trust()
      const { status, body } = await exchange(await identity())
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.deep.equal({
        access_token: body.access_token,
        token_type: 'Bearer',
        expires_in: 900,
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      })
      const call = caller(service.url, body.access_token)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      expect((await call('GET', '/api/user/profile')).body.id).to.equal('usr_admin')
      for (const [method, path] of [
        ['PATCH', '/v1/settings'],
        ['GET', '/api/chat/history'],
        ['POST', '/v1/users'],
      ] as const) {
        const refused = await call(method, path)
        expect(refused.status, path).to.equal(403)
        expect(refused.body.error.message).to.match(/: the access token does not have it$/)
      }
      clock.pass(899_999)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      clock.pass(1)
      expect((await call('GET', '/v1/settings')).status).to.equal(401)
    }))

  it('is accepted as a client assertion too', () =>
    withTrust(async ({ service, trust, identity }) => {
      await trust()
      const { status, body } = await askWithAssertion(service.url, await identity())
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.deep.equal({ access_token: body.access_token, token_type: 'Bearer', expires_in: 900 })
      expect((await caller(service.url, body.access_token)('GET', '/v1/settings')).status).to.equal(200)
    }))

  it('may be exchanged again, because CI systems retry jobs', () =>
    withTrust(async ({ trust, identity, exchange }) => {
      await trust()
      const token = await identity({ jti: 'one' })
      const [first, second] = [await exchange(token), await exchange(token)]
      expect([first.status, second.status]).to.deep.equal([200, 200])
      expect(first.body.access_token).not.to.equal(second.body.access_token)
    }))

  it('is accepted in one process, and its access token in another, until the trust is revoked', () =>
    withTrust(async ({ service, administration, trust, identity }) => {
      await trust()
      await using other = closing(equip(await startService({ ...service.place })))
      const token = await identity({
        iat: Math.floor(Date.now() / 1000),
        exp: Math.floor(Date.now() / 1000) + 60,
      })
      const { body } = await exchangeAt(other.url, token)
      const call = caller(service.url, body.access_token)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      await administration.revokeTrust('deploy')
      await takesEffect(engine, async () => {
        expect((await call('GET', '/v1/settings')).status).to.equal(401)
      })
      expect((await exchangeAt(other.url, token)).status).to.equal(400)
    }))

  it('gets no access token if the trust is revoked during the exchange', () =>
    withTrust(async ({ service, administration, trust, clock }) => {
      const revoked = await trust()
      await administration.revokeTrust('deploy')
      await trust()
      await using store = closing(await openStore(service.place))
      const issued = await issueToken(store.db, revoked, ['*:*'], mainBranch, localAuditContext(clock))
      expect(issued).to.equal(undefined)
      expect(await store.db.selectFrom('api_keys').select('id').execute()).to.deep.equal([])
    }))

  it('gets fewer permissions with a scope, and never more', () =>
    withTrust(async ({ service, trust, identity, exchange }) => {
      await trust({ permissions: ['*:settings', 'read:chat'] })
      const { status, body } = await exchange(await identity(), { scope: 'chat:write settings:read' })
      expect(status).to.equal(200)
      expect(body.scope).to.equal('read:chat read:settings')
      const call = caller(service.url, body.access_token)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      expect((await call('GET', '/api/chat/history')).status).to.equal(200)
      expect((await call('PATCH', '/v1/settings', { app_name: 'x' })).status).to.equal(403)
      expect((await call('POST', '/api/chat/send', { message: 'x' })).status).to.equal(403)
      for (const scope of ['users:write', 'users:read users:write', 'everything', 'constructor']) {
        const refused = await exchange(await identity(), { scope })
        expect(refused.status).to.equal(400)
        expect(refused.body.error, scope).to.equal('invalid_scope')
      }
      expect((await exchange(await identity(), { scope: 'admin' })).status).to.equal(200)
    }))

  it('acts as the user of the trust, within the permissions of the user', () =>
    withTrust(async ({ service, trust, identity, exchange }) => {
      const { body: user } = await service.call('POST', '/v1/users', {
        email: 'ci@example.com',
        password: 'long enough',
      })
      await trust({ user: 'ci@example.com', permissions: ['*:chat', 'read:settings'] })
      const { body } = await exchange(await identity())
      const call = caller(service.url, body.access_token)
      expect((await call('GET', '/api/user/profile')).body.id).to.equal(user.id)
      const sent = await call('POST', '/api/chat/send', { message: 'Hello' })
      expect(sent.status).to.equal(200)
      const history = await call('GET', `/api/chat/history?context_id=${sent.body.context_id}`)
      expect(history.body.messages).to.have.length(2)
      expect(
        (await service.call('GET', `/api/chat/history?context_id=${sent.body.context_id}`)).status,
      ).to.equal(404)
    }))

  it('uses the trust with the exact subject before one with a pattern, and then the oldest', () =>
    withTrust(async ({ administration, trust, identity, exchange }) => {
      await trust({ name: 'any', subject: 'repo:acme/app:**' })
      await trust({ name: 'branch', subject: 'repo:acme/app:ref:refs/heads/*' })
      const used = async () => {
        expect((await exchange(await identity())).status).to.equal(200)
        return (await administration.listChanges({ action: 'trust.exchanged', limit: 1 }))[0]?.target
      }
      expect(await used()).to.equal('any')
      await trust({ name: 'exact' })
      expect(await used()).to.equal('exact')
      await administration.revokeTrust('exact')
      await administration.revokeTrust('any')
      expect(await used()).to.equal('branch')
    }))

  it('has an entry in the audit log for each exchange, with the changes that its access token makes', () =>
    withTrust(async ({ service, issuer, administration, trust, identity, exchange }) => {
      await trust({ permissions: ['write:settings'] })
      const { body } = await exchange(await identity())
      await caller(service.url, body.access_token)('PATCH', '/v1/settings', { app_name: 'by CI' })
      await administration.revokeTrust('deploy')
      const entries = await administration.listChanges({ limit: 50 })
      expect(entries.map(({ action, actor, key_id }) => [action, actor, key_id])).to.deep.equal([
        ['trust.create', 'machine', null],
        ['trust.exchanged', 'usr_admin', 'trust:deploy'],
        ['settings.update', 'usr_admin', 'trust:deploy'],
        ['trust.revoke', 'machine', null],
      ])
      expect(entries[1]).to.deep.include({
        target: 'deploy',
        after: {
          issuer: issuer.url,
          subject: mainBranch,
          permissions: ['write:settings'],
          expires_at: '2026-03-01T12:15:00.000Z',
        },
      })
      expect(entries[1]?.request_id).to.match(/^req_/)
      expect(JSON.stringify(entries)).not.to.include(body.access_token.slice(3, 12))
      expect(await administration.listChanges({ target: 'deploy', limit: 50 })).to.have.length(3)
    }))
})

onEachEngine('the revocation of an access token of a trust', (withService, engine) => {
  it('is a change that this process notes, and that of another text is none', () =>
    withTrustedService(withService, async ({ service, trust, clock }) => {
      await using store = closing(await openStore(service.place))
      const by = localAuditContext(clock)
      const issued = await issueToken(store.db, await trust(), ['read:settings'], mainBranch, by)
      let changes = 0
      const noteChange = () => {
        changes += 1
      }
      await revokeToken({ db: store.db, noteChange }, 'ct_unknown')
      expect(changes).to.equal(0)
      await revokeToken({ db: store.db, noteChange }, issued?.token ?? '')
      expect(changes).to.equal(1)
    }))

  it('ends it with the next request, in other processes soon, and ends no other', () =>
    withTrustedService(withService, async ({ service, administration, trust, identity, exchange, clock }) => {
      await trust()
      await using neighbor = closing(equip(await startService({ ...service.place, clock })))
      const [one, other] = [await exchange(await identity()), await exchange(await identity())]
      const { key } = await administration.createKey({ name: 'ci', tier: 'free' })
      const revoke = (token: string) =>
        fetch(`${service.url}/oauth/revoke`, {
          method: 'POST',
          body: new URLSearchParams({ client_id: 'chatctl', token }),
        })
      const status = async (token: string, url = service.url) =>
        (await caller(url, token)('GET', '/v1/settings')).status
      expect(await status(one.body.access_token)).to.equal(200)
      expect(await status(one.body.access_token, neighbor.url)).to.equal(200)
      expect((await revoke(one.body.access_token)).status).to.equal(200)
      expect(await status(one.body.access_token)).to.equal(401)
      await takesEffect(engine, async () => {
        expect(await status(one.body.access_token, neighbor.url)).to.equal(401)
      })
      expect(await status(other.body.access_token)).to.equal(200)
      expect((await revoke('ct_unknown')).status).to.equal(200)
      await revoke(key)
      await revoke(key.replace('ck_', 'ct_'))
      expect(await status(key)).to.equal(200)
    }))
})

describe('an access token of a trust', () => {
  it('is not in the list of keys, and cannot be revoked as a key', () =>
    withSqliteTrust(async ({ administration, trust, identity, exchange }) => {
      await trust()
      await exchange(await identity())
      expect(await administration.listKeys()).to.deep.equal([])
      expect((await administration.status()).keys).to.equal(0)
    }))

  it('is looked up before it is revoked, so that a stranger writes nothing to the database', () =>
    withSqliteTrust(async ({ service }) => {
      const revoke = async () => {
        const body = new URLSearchParams({ token: 'ct_unknown' })
        return (await fetch(`${service.url}/oauth/revoke`, { method: 'POST', body })).status
      }
      // The first request of a process opens the OAuth server, which may write.
      expect(await revoke()).to.equal(200)
      await using other = closing(openSqlite(service.dataDir))
      other.connection.exec('begin immediate')
      expect(await revoke()).to.equal(200)
    }))

  it('has the hourly limit of the trust, together with the others', () =>
    withSqliteTrust(async ({ service, trust, identity, exchange }) => {
      await trust({ tier: 'enterprise', limit: 3 })
      const statuses: number[] = []
      for (let index = 0; index < 4; index++) {
        const { body } = await exchange(await identity())
        statuses.push((await caller(service.url, body.access_token)('GET', '/v1/settings')).status)
      }
      expect(statuses).to.deep.equal([200, 200, 200, 429])
    }))

  it('is removed some time after it has expired', () =>
    withSqliteTrust(async ({ service, trust, identity, exchange, clock }) => {
      await trust()
      await exchange(await identity())
      clock.pass(3_600_000)
      await exchange(await identity())
      await using store = closing(await openStore(service.place))
      const count = async () => (await store.db.selectFrom('api_keys').select('id').execute()).length
      await takesEffect('postgres', async () => {
        expect(await count()).to.equal(1)
      })
    }))
})

describe('the token endpoint with an identity token', () => {
  it('refuses requests that break RFC 8693 or RFC 7523', () =>
    withSqliteTrust(async ({ service, trust, identity, exchange }) => {
      await trust()
      const token = await identity()
      const type = (name: string) => `urn:ietf:params:oauth:token-type:${name}`
      const refused: [Record<string, string>, string][] = [
        [{ subject_token: '' }, 'invalid_request'],
        [{ subject_token_type: type('saml2') }, 'invalid_request'],
        [{ subject_token_type: '' }, 'invalid_request'],
        [{ requested_token_type: type('refresh_token') }, 'invalid_request'],
        [{ actor_token: token }, 'invalid_request'],
        [{ client_id: 'another' }, 'invalid_client'],
        [{ resource: 'https://other.example' }, 'invalid_target'],
        [{ audience: 'other' }, 'invalid_target'],
      ]
      for (const [fields, error] of refused) {
        const { status, body } = await exchange(token, fields)
        expect(status, JSON.stringify(fields)).to.be.within(400, 401)
        expect(body.error, JSON.stringify(fields)).to.equal(error)
      }
      const allowed: Record<string, string>[] = [
        { subject_token_type: type('jwt') },
        { requested_token_type: type('access_token') },
        { resource: `${service.url}/`, audience: service.url },
        { unknown: 'parameter' },
        // RFC 6749 section 3.2: as if they were omitted.
        { client_id: '', requested_token_type: '', resource: '', audience: '', actor_token: '', scope: '' },
      ]
      for (const fields of allowed)
        expect((await exchange(token, fields)).status, JSON.stringify(fields)).to.equal(200)
      const assert = async (fields: Record<string, string>) =>
        (await askWithAssertion(service.url, token, fields)).body.error
      expect(await assert({ client_assertion: '' })).to.equal('invalid_client')
      expect(await assert({ client_assertion_type: 'other' })).to.equal('invalid_request')
      expect(await assert({ client_id: 'another' })).to.equal('invalid_client')
    }))

  it('needs no client ID, and refuses repeated parameters and large bodies', () =>
    withSqliteTrust(async ({ service, trust, identity }) => {
      await trust()
      const send = async (body: string) => {
        const response = await fetch(`${service.url}/oauth/token`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
          body,
        })
        return { status: response.status, headers: response.headers, body: await response.json() }
      }
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: assertionType,
        client_assertion: await identity(),
      }).toString()
      const given = await send(form)
      expect(given.status).to.equal(200)
      expect(given.headers.get('cache-control')).to.equal('no-store')
      const repeated = await send(`${form}&client_assertion=x`)
      expect(repeated).to.deep.include({ status: 400 })
      expect(repeated.body).to.include({ error: 'invalid_request' })
      const large = await send(`${form}&x=${'x'.repeat(60_000)}`)
      expect(large).to.deep.include({ status: 400 })
      expect(large.body).to.include({ error: 'invalid_request' })
    }))

  it('allows the origins of the CORS settings, as for other grants', () =>
    withSqliteTrust(async ({ service, trust, identity }) => {
      await trust()
      await service.call('POST', '/v1/settings/api', { cors: { allowed_origins: ['https://page.example'] } })
      const allowed = async (origin: string) => {
        const response = await fetch(`${service.url}/oauth/token`, {
          method: 'POST',
          headers: { origin },
          body: new URLSearchParams({ grant_type: 'client_credentials', client_assertion: await identity() }),
        })
        return response.headers.get('access-control-allow-origin')
      }
      expect(await allowed('https://page.example')).to.equal('https://page.example')
      expect(await allowed('https://evil.example')).to.equal(null)
    }))

  it('limits the exchanges of one trust, and the requests of one network', () =>
    withSqliteTrust(async ({ trust, identity, exchange, clock }) => {
      await trust()
      const token = await identity()
      const statuses: number[] = []
      for (let index = 0; index < 61; index++) statuses.push((await exchange(token)).status)
      expect(statuses.filter((status) => status === 200)).to.have.length(60)
      expect(statuses.at(-1)).to.equal(429)
      clock.pass(1_000)
      expect((await exchange(token)).status).to.equal(200)
      let last = await exchange('x')
      for (let index = 0; index < 200 && last.status !== 429; index++) last = await exchange('x')
      expect(last.status).to.equal(429)
      expect(last.body.error).to.equal('temporarily_unavailable')
    }))
})
