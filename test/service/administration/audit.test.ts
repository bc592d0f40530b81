import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type AuditEntry, changedParts, listAuditEntries } from '../../../src/service/domain/audit.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { forAll } from '../../support/for-all.ts'
import { closing } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { plantKey, plantUser } from '../domain/plant-key.ts'
import {
  caller,
  onEachTransport,
  type TemporaryService,
  type WithService,
  withService,
} from '../temporary-service.ts'

type Read = () => Promise<AuditEntry[]>

const withLogOf = (
  withService: WithService,
  use: (service: TemporaryService, read: Read) => Promise<void>,
): Promise<void> =>
  withService(
    async (service) => {
      await using store = closing(await openStore(service.place))
      await use(service, () => listAuditEntries(store.db, { limit: 1_000 }))
    },
    { clock: new SteppedClock() },
  )

/** A secret that no log may contain. */
const canary = 'canary-Tr0ub4dor'

onEachTransport('the audit log of the embedded service', (withService) => {
  const withLog = (use: Parameters<typeof withLogOf>[1]) => withLogOf(withService, use)

  it('names the user, the key, the request, and both values of each change', () =>
    withLog(async ({ url, call, place }, read) => {
      const { db, close } = await openStore(place)
      const admin = await plantUser(db, { role: 'admin' })
      const { id: keyId, key } = await plantKey(db, { user_id: admin.id })
      await close()
      const as = caller(url, key)
      const known = { 'x-request-id': 'deploy-7.a_B' }
      const user = { email: 'ada@example.com', password: canary, name: 'Ada', metadata: { seats: 5 } }
      const { body: ada } = await as('POST', '/v1/users', user, known)
      await as('PATCH', `/v1/users/${ada.id}`, {
        name: 'Lovelace',
        metadata: { seats: null, team: 'x' },
        settings: { theme: 'dark' },
      })
      await as('POST', `/v1/users/${ada.id}/permissions`, { permissions: ['write:users'], role: 'editor' })
      await as('PATCH', '/v1/settings', { limits: { max_tokens: 10 }, app_name: 'Mine' })
      await call('POST', '/v1/settings/api', { cors: { allowed_origins: ['https://a.example'] } })

      const entries = await read()
      for (const entry of entries.slice(0, 4)) expect(entry).to.include({ actor: admin.id, key_id: keyId })
      expect(entries[0]).to.include({ request_id: 'deploy-7.a_B' })
      expect(entries[1]?.request_id).to.match(/^req_/)
      expect(entries[4]).to.include({ actor: 'usr_admin', key_id: 'process' })
      for (const { at } of entries) expect(at).to.equal('2026-03-01T12:00:00.000Z')
      expect(
        entries.map(({ action, target, before, after }) => [action, target, before, after]),
      ).to.deep.equal([
        [
          ...['user.create', ada.id, null],
          { email: 'ada@example.com', name: 'Ada', role: 'member', metadata: { seats: 5 } },
        ],
        [
          ...['user.update', ada.id, { name: 'Ada', metadata: { seats: 5 }, settings: { theme: 'system' } }],
          { name: 'Lovelace', metadata: { team: 'x' }, settings: { theme: 'dark' } },
        ],
        [
          ...['user.assign', ada.id, { role: 'member', permissions: [] }],
          { role: 'editor', permissions: ['write:users'] },
        ],
        [
          ...['settings.update', 'settings', { app_name: 'Chat', limits: { max_tokens: 4096 } }],
          { app_name: 'Mine', limits: { max_tokens: 10 } },
        ],
        [
          ...['api.update', 'api_configuration', { cors: { allowed_origins: [] } }],
          { cors: { allowed_origins: ['https://a.example'] } },
        ],
      ])
    }))

  it('omits requests that are refused, fail, change nothing, or change only the user’s own data', () =>
    withLog(async ({ url, call, place }, read) => {
      const { db, close } = await openStore(place)
      const user = await plantUser(db)
      const member = caller(url, (await plantKey(db, { user_id: user.id })).key)
      await close()
      const answers = [
        await member('PATCH', '/v1/settings', { app_name: 'x' }),
        await call('POST', '/v1/users', { email: user.email, password: 'long enough' }),
        await call('PATCH', `/v1/users/${user.id}`, { metadata: { a: 'x'.repeat(70_000) } }),
        await call('PATCH', '/v1/users/usr_nope', { name: 'x' }),
        await call('PATCH', '/v1/settings', { app_name: 5 }),
        await call('PATCH', '/v1/settings', { app_name: 'Chat' }),
        await call('PATCH', `/v1/users/${user.id}`, {}),
        await call('POST', `/v1/users/${user.id}/permissions`, { role: 'member' }),
        await member('PUT', '/api/user/settings', { theme: 'dark' }),
        await member('POST', '/api/chat/send', { message: 'hello' }),
      ]
      const statuses = answers.map(({ status }) => status)
      expect(statuses).to.deep.equal([403, 409, 400, 404, 400, 200, 200, 200, 200, 200])
      expect(await read()).to.deep.equal([])
    }))

  it('hides passwords and keys in all parts of a request', () =>
    withLog(async ({ call, dataDir, key }, read) => {
      const metadata = {
        password: canary,
        api_key: canary,
        nested: { accessToken: canary, client_secret: canary, list: [{ passphrase: canary }] },
        'api-key': canary,
        secrets: [canary, { of: canary }],
        credentials: { user: 'ada', value: canary },
        pass: 271828,
      }
      const user = { email: 'ada@example.com', password: canary, metadata }
      const { body } = await call('POST', '/v1/users', user)
      await call('PATCH', `/v1/users/${body.id}`, { metadata: { password: `${canary}2`, nested: null } })
      const entries = await read()
      expect(entries).to.have.length(2)
      for (const secret of [canary, key]) expect(JSON.stringify(entries)).not.to.include(secret)
      expect(entries[0]?.after).to.deep.include({
        metadata: {
          password: '[redacted]',
          api_key: '[redacted]',
          nested: {
            accessToken: '[redacted]',
            client_secret: '[redacted]',
            list: [{ passphrase: '[redacted]' }],
          },
          'api-key': '[redacted]',
          secrets: '[redacted]',
          credentials: '[redacted]',
          pass: '[redacted]',
        },
      })
      for (const name of readdirSync(dataDir))
        expect(readFileSync(join(dataDir, name), 'latin1').includes(key), name).to.equal(false)
    }))
})

describe('an entry of the audit log', () => {
  it('is stored together with its change, or neither is', () =>
    withLogOf(withService, async ({ call, dataDir }, read) => {
      const { db, connection, close } = openSqlite(dataDir)
      connection.exec(
        "create trigger full before insert on audit_log begin select raise(abort, 'no room'); end",
      )
      const answers = [
        await call('PATCH', '/v1/settings', { app_name: 'Mine' }),
        await call('POST', '/v1/users', { email: 'ada@example.com', password: 'long enough' }),
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal([500, 500])
      expect((await call('GET', '/v1/settings')).body.app_name).to.equal('Chat')
      expect(await db.selectFrom('users').select('id').execute()).to.have.length(1)
      connection.exec('drop trigger full')
      await close()
      expect((await call('PATCH', '/v1/settings', { app_name: 'Mine' })).status).to.equal(200)
      expect(await read()).to.have.length(1)
    }))

  it('contains a new key with the name of an inherited property', () => {
    for (const key of ['__proto__', 'constructor']) {
      const after = JSON.parse(`{"${key}":{}}`)
      expect(JSON.stringify(changedParts({}, after)), key).to.equal(`{"before":{},"after":{"${key}":{}}}`)
    }
  })

  it('contains the keys that differ, and no others', () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    const state = fc.dictionary(fc.constantFrom('a', 'b', 'constructor', '__proto__'), value)
    forAll(state, state, (before, after) => {
      const parts = changedParts(before, after)
      if (!parts) {
        expect(sorted(before)).to.equal(sorted(after))
        return
      }
      for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
        const [old, now] = [before, after].map((one) => (Object.hasOwn(one, key) ? one[key] : undefined))
        const same = JSON.stringify(old) === JSON.stringify(now)
        const kept = Object.hasOwn(parts.before ?? {}, key) || Object.hasOwn(parts.after ?? {}, key)
        if (same) expect(kept, key).to.equal(false)
        else if (sorted(old) !== sorted(now)) expect(kept, key).to.equal(true)
      }
    })
  })
})

/** As JSON, with the keys of each object in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

describe('the id of a request', () => {
  it('is the id that the caller sends if it is safe to repeat, and a new one otherwise', () =>
    withService(async ({ call }) => {
      const idOf = async (id: string) =>
        (await call('GET', '/v1/settings', undefined, { 'x-request-id': id })).headers.get('x-request-id')
      for (const id of ['a', 'A.b_c-9', 'x'.repeat(64)]) expect(await idOf(id)).to.equal(id)
      for (const id of ['', 'x'.repeat(65), 'a b', 'a"b', '{}', 'ä', 'a,b'])
        expect(await idOf(id), id).to.match(/^req_[0-9a-z]{26}$/)
    }))
})
