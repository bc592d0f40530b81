import { expect } from 'chai'
import type { Failure } from '../../../src/contract/failure.ts'
import {
  type Administration,
  openAdministration,
} from '../../../src/service/administration/administration.ts'
import { createAdapters } from '../../../src/service/oauth/adapter.ts'
import { beginAttempt, passwordSubjects } from '../../../src/service/oauth/attempt-throttle.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { closing } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { rejectedFailure } from '../../support/thrown-failure.ts'
import { plantUser } from '../domain/plant-key.ts'
import { takesEffect } from '../take-effect.ts'
import {
  type Answer,
  caller,
  onEachEngine,
  type TemporaryService,
  type WithService,
} from '../temporary-service.ts'

interface Place {
  service: TemporaryService
  administration: Administration
  db: Database
  clock: SteppedClock
}

/** A running service, with access to its data from outside. */
const withPlaceOf = (withService: WithService, use: (place: Place) => Promise<void>): Promise<void> => {
  const clock = new SteppedClock()
  return withService(
    async (service) => {
      const administration = await openAdministration(service.place, clock)
      const store = await openStore(service.place)
      try {
        await use({ service, administration, db: store.db, clock })
      } finally {
        await store.close()
        await administration.close()
      }
    },
    { clock },
  )
}

const failureOf = (work: Promise<unknown>): Promise<Failure> =>
  work.then(
    () => expect.fail('it did not fail'),
    (error) => error,
  )

const free = { name: 'ci', tier: 'free' } as const

onEachEngine('keys of the embedded service', (withService, engine) => {
  const withPlace = (use: (place: Place) => Promise<void>) => withPlaceOf(withService, use)
  const answers = (call: () => Promise<Answer>, status: number) =>
    takesEffect(engine, async () => {
      expect((await call()).status).to.equal(status)
    })

  it('act as their user, named by id or by email, within their permissions', () =>
    withPlace(async ({ service, administration, db }) => {
      const user = await plantUser(db, { email: 'Ada@Example.com' })
      for (const name of [user.id, 'ada@example.COM']) {
        const made = await administration.createKey({ ...free, user: name })
        expect(made).to.include({ user_id: user.id, user_email: user.email, permissions: null })
        expect((await caller(service.url, made.key)('GET', '/api/user/profile')).body.id).to.equal(user.id)
      }
      const permissions = ['read:profile', 'read:profile']
      const made = await administration.createKey({ ...free, user: user.id, permissions })
      expect(made.permissions).to.deep.equal(['read:profile'])
      const call = caller(service.url, made.key)
      expect((await call('GET', '/api/user/profile')).status).to.equal(200)
      expect((await call('GET', '/v1/settings')).status).to.equal(403)
      const [listed] = (await administration.listKeys()).slice(-1)
      expect(listed).to.deep.include({ user_email: user.email, permissions: ['read:profile'] })
    }))

  it('are refused for an unknown user, unknown or excess permissions, and an expiry in the past', () =>
    withPlace(async ({ administration, db }) => {
      const user = await plantUser(db)
      const make = (more: object) => failureOf(administration.createKey({ ...free, ...more }))
      expect(await make({ user: 'nobody@example.com' })).to.include({ kind: 'not_found' })
      const beyond = await make({ user: user.id, permissions: ['read:chat', 'write:users', '*:*'] })
      expect(beyond).to.include({ kind: 'refused' })
      expect(beyond.message).to.contain('write:users, *:*')
      const slip = await make({ permissions: ['raed:chat'] })
      expect(slip).to.include({ kind: 'usage', hint: 'Did you mean read:chat?' })
      expect((await make({ permissions: ['everything'] })).hint).to.match(/^Known permissions: \*:\*, /)
      expect(await make({ expiresAt: '2020-01-01T00:00:00.000Z' })).to.include({ kind: 'usage' })
      expect(await administration.listKeys()).to.deep.equal([])
    }))

  it('create no data if they are refused, or in a dry run', () =>
    withService(async ({ dataDir }) => {
      const administration = await openAdministration({ dataDir: `${dataDir}/none` })
      const failure = await failureOf(administration.createKey({ ...free, user: 'nobody@example.com' }))
      expect(failure).to.include({ kind: 'not_found' })
      expect((await administration.status()).schema_version).to.equal(0)
      await administration.close()
      await using rehearsing = closing(
        await openAdministration({ dataDir: `${dataDir}/none` }, undefined, true),
      )
      const planned = await rehearsing.createKey({ ...free, user: 'admin@localhost' })
      expect(planned).to.include({ user_id: 'usr_admin', limit: 100 })
      expect((await rehearsing.status()).schema_version).to.equal(0)
    }))

  it('change on a running service from the next request, and keep values that are not given', () =>
    withPlace(async ({ service, administration, clock }) => {
      const { id, key } = await administration.createKey(free)
      const call = caller(service.url, key)
      await answers(() => call('GET', '/v1/settings'), 200)
      const limited = await administration.updateKey(id, { permissions: ['read:chat'] })
      expect(limited).to.deep.include({ name: 'ci', tier: 'free', limit: 100, permissions: ['read:chat'] })
      await answers(() => call('GET', '/v1/settings'), 403)
      await administration.updateKey(id, { permissions: null })
      await answers(() => call('GET', '/v1/settings'), 200)
      const soon = new Date(clock.now() + 3_600_000).toISOString()
      expect((await administration.updateKey(id, { expiresAt: soon })).expires_at).to.equal(soon)
      await answers(() => call('GET', '/v1/settings'), 200)
      clock.pass(3_600_000)
      await answers(() => call('GET', '/v1/settings'), 401)
      await administration.updateKey(id, { expiresAt: null })
      await answers(() => call('GET', '/v1/settings'), 200)
    }))

  it('take the limit of a new tier, and keep their own limit if the tier stays the same', () =>
    withPlace(async ({ administration }) => {
      const { id } = await administration.createKey(free)
      const limitAfter = async (change: object) => (await administration.updateKey(id, change)).limit
      expect(await limitAfter({ tier: 'pro' })).to.equal(1000)
      expect(await limitAfter({ tier: 'enterprise' })).to.equal(null)
      expect(await limitAfter({ limit: 5000 })).to.equal(5000)
      expect(await limitAfter({ tier: 'enterprise', name: 'x' })).to.equal(5000)
      expect(await failureOf(limitAfter({ tier: 'pro', limit: 5 }))).to.include({ kind: 'usage' })
      expect(await limitAfter({ tier: 'free' })).to.equal(100)
      expect(await failureOf(limitAfter({ limit: 5 }))).to.include({ kind: 'usage' })
    }))

  it('cannot be changed after they are revoked', () =>
    withPlace(async ({ administration }) => {
      const { id } = await administration.createKey(free)
      await administration.revokeKey(id)
      expect(await failureOf(administration.updateKey(id, { name: 'x' }))).to.include({ kind: 'conflict' })
      expect(await failureOf(administration.updateKey('key_no', { name: 'x' }))).to.include({
        kind: 'not_found',
      })
    }))

  it('do not change in a dry run, which shows what each change would do', () =>
    withPlace(async ({ administration, service, db }) => {
      const { id, key } = await administration.createKey(free)
      const rehearsing = await openAdministration(service.place, undefined, true)
      expect(await rehearsing.updateKey('ci', { tier: 'pro' })).to.include({ id, tier: 'pro', limit: 1000 })
      expect((await rehearsing.rotateKey('ci', { overlap: 0 })).replaces.revoked_at).to.be.a('string')
      expect((await rehearsing.revokeKey('ci')).revoked_at).to.be.a('string')
      await rehearsing.createKey(free)
      await rehearsing.resetAccount('usr_admin', undefined)
      await rehearsing.close()
      const [only, ...others] = await administration.listKeys()
      expect(only).to.include({ id, tier: 'free', revoked_at: null })
      expect(others).to.deep.equal([])
      expect(await db.selectFrom('audit_log').select('action').execute()).to.deep.equal([
        { action: 'key.create' },
      ])
      expect((await caller(service.url, key)('GET', '/v1/settings')).status).to.equal(200)
    }))

  it('have an audit entry for each change, without the key', () =>
    withPlace(async ({ administration }) => {
      const { id, key } = await administration.createKey({ ...free, permissions: ['read:chat'] })
      await administration.updateKey(id, { tier: 'pro' })
      await administration.updateKey(id, { tier: 'pro' })
      await administration.revokeKey(id)
      await administration.revokeKey(id)
      const entries = await administration.listChanges({ limit: 50 })
      expect(entries.map(({ action }) => action)).to.deep.equal(['key.create', 'key.update', 'key.revoke'])
      for (const entry of entries) expect(entry).to.include({ actor: 'machine', key_id: null, target: id })
      expect(entries[1]).to.deep.include({
        before: { tier: 'free', limit: 100 },
        after: { tier: 'pro', limit: 1000 },
      })
      expect(JSON.stringify(entries)).not.to.contain(key.slice(0, 9))
    }))
})

onEachEngine('admins of the embedded service', (withService) => {
  const withPlace = (use: (place: Place) => Promise<void>) => withPlaceOf(withService, use)
  const ada = { email: 'Ada@example.com', name: 'Ada', password: 'canary-long-enough' }

  it('can be created while the service runs', () =>
    withPlace(async ({ service, administration, db }) => {
      const made = await administration.createAdmin(ada)
      expect(made).to.include({ email: ada.email, name: 'Ada', role: 'admin' })
      const { key } = await administration.createKey({ ...free, user: ada.email })
      const call = caller(service.url, key)
      expect((await call('POST', '/v1/settings/api', { version: '2' })).status).to.equal(200)
      const row = await db.selectFrom('users').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow()
      expect(row.password_hash).to.match(/^\$argon2id\$/)
      const entries = await administration.listChanges({ action: 'admin', limit: 50 })
      expect(entries).to.have.length(1)
      expect(entries[0]).to.deep.include({
        actor: 'machine',
        action: 'admin.create',
        target: made.id,
        after: { email: ada.email, name: 'Ada', role: 'admin' },
      })
      expect(JSON.stringify(entries)).not.to.match(/canary|argon2/)
    }))

  it('need an unused email and a password of at least 8 characters', () =>
    withPlace(async ({ administration, db }) => {
      await plantUser(db, { email: 'taken@example.com' })
      const make = (more: object) => failureOf(administration.createAdmin({ ...ada, ...more }))
      expect(await make({ email: 'TAKEN@example.com' })).to.include({ kind: 'conflict' })
      const bad = await make({ email: 'nobody', password: 'short', name: 'x'.repeat(201) })
      expect(bad).to.include({ kind: 'refused' })
      for (const field of ['email', 'password', 'name']) expect(bad.message).to.contain(field)
      expect(bad.message).not.to.contain('short')
      expect(await failureOf(administration.checkAdmin({ email: 'x', name: '' }))).to.include({
        kind: 'refused',
      })
      expect(await db.selectFrom('users').select('id').execute()).to.have.length(2)
    }))

  for (const [what, password] of [['a new', 'canary-another'] as const, ['the same', undefined] as const])
    it(`are reset to ${what} password, without a second factor and without earlier sign-ins`, () =>
      withPlace(async ({ administration, db }) => {
        const { id } = await administration.createAdmin(ada)
        const other = await plantUser(db)
        for (const user_id of [id, other.id]) {
          await db
            .insertInto('second_factors')
            .values({ user_id, secret: 'ABCD', confirmed_at: null, last_step: null })
            .execute()
          await db
            .insertInto('oauth_records')
            .values({
              model: 'Session',
              id_hash: user_id,
              payload: '{}',
              uid_hash: null,
              user_code_hash: null,
              grant_hash: null,
              user_id,
              consumed_at: null,
              expires_at: null,
              created_at: '2026-01-01T00:00:00.000Z',
            })
            .execute()
        }
        const hash = async () =>
          (await db.selectFrom('users').select('password_hash').where('id', '=', id).executeTakeFirst())
            ?.password_hash
        const before = await hash()
        expect(await administration.resetAccount('ADA@example.com', password)).to.include({ id })
        expect(await hash()).to.match(/^\$argon2id\$/)
        expect((await hash()) !== before).to.equal(password !== undefined)
        const factors = await db.selectFrom('second_factors').select('user_id').execute()
        expect(factors).to.deep.equal([{ user_id: other.id }])
        const records = await db.selectFrom('oauth_records').select('user_id').execute()
        expect(records).to.deep.equal([{ user_id: other.id }])
        const [entry] = await administration.listChanges({ action: 'user.reset', limit: 1 })
        expect(entry).to.include({ actor: 'machine', target: id })
        expect(JSON.stringify(entry)).not.to.match(/canary|argon2|ABCD/)
      }))

  it('can sign in after a reset even if failed attempts had delayed them', () =>
    withPlace(async ({ administration, db, clock }) => {
      await administration.createAdmin(ada)
      const now = clock.now()
      const fail = async (email: string, address: string) =>
        'wait' in (await beginAttempt(db, passwordSubjects({ email, address, browser: undefined }), now))
      for (let failure = 1; failure <= 5; failure++) {
        expect(await fail('Ada@example.com', '192.0.2.1')).to.equal(false)
        expect(await fail('other@example.com', '192.0.2.2')).to.equal(false)
      }
      expect(await fail('ada@example.com', '192.0.2.1')).to.equal(true)
      await administration.resetAccount('ADA@example.com', 'canary-another')
      expect(await fail('ada@example.com', '192.0.2.1')).to.equal(false)
      expect(await fail('other@example.com', '192.0.2.2')).to.equal(true)
    }))

  it('leave no session after a reset to a sign-in that used the old password', () =>
    withPlace(async ({ administration, db, clock }) => {
      const { id } = await administration.createAdmin(ada)
      const adapters = createAdapters(db, clock)
      const session = { accountId: id, uid: 'the-uid' }
      await adapters('Session').upsert('the-session', session, 3600)
      const half = { result: { login: { accountId: id } }, params: {}, uid: 'half' }
      await adapters('Interaction').upsert('half', half, 3600)
      const others = { result: { login: { accountId: 'usr_admin' } }, params: {}, uid: 'others' }
      await adapters('Interaction').upsert('others', others, 3600)
      await administration.resetAccount(ada.email, 'canary-another')
      // A request that had read the session before the reset writes it when it ends.
      await adapters('Session').upsert('the-session', session, 3600)
      expect(await adapters('Session').find('the-session')).to.equal(undefined)
      expect(await adapters('Interaction').find('half')).to.equal(undefined)
      expect(await adapters('Interaction').find('others')).not.to.equal(undefined)
    }))

  it('are reset like every user, with a valid password', () =>
    withPlace(async ({ administration, db }) => {
      const { id } = await plantUser(db, { email: 'ed@example.com', role: 'editor' })
      expect(await administration.resetAccount(id, 'long enough')).to.include({ id, role: 'editor' })
      const reset = (user: string, password = 'long enough') =>
        failureOf(administration.resetAccount(user, password))
      expect(await reset('none@example.com')).to.include({ kind: 'not_found' })
      expect(await reset('admin@localhost', 'short')).to.include({ kind: 'refused' })
      expect(await administration.listChanges({ limit: 50 })).to.have.length(1)
    }))
})

const hour = 3_600_000
const header = 'x-credential-expires-at'

onEachEngine('a key that is rotated', (withService, engine) => {
  const withPlace = (use: (place: Place) => Promise<void>) => withPlaceOf(withService, use)
  const answers = ({ url }: TemporaryService, key: string, status: number) =>
    takesEffect(engine, async () => {
      expect((await caller(url, key)('GET', '/api/user/profile')).status).to.equal(status)
    })
  const dateIn = (clock: SteppedClock, ms: number) => new Date(clock.now() + ms).toISOString()

  it('works until the end of the overlap, and its replacement immediately', () =>
    withPlace(async ({ service, administration, clock }) => {
      const permissions = ['read:profile', 'read:chat']
      const old = await administration.createKey({ name: 'ci', tier: 'pro', permissions })
      await answers(service, old.key, 200)
      const end = dateIn(clock, 24 * hour)
      const rotated = await administration.rotateKey('ci', { overlap: 24 * hour })
      expect(rotated).to.deep.include({ name: 'ci', tier: 'pro', limit: 1000, permissions, expires_at: null })
      expect(rotated.replaces).to.deep.equal({
        id: old.id,
        name: 'ci (rotated)',
        expires_at: end,
        revoked_at: null,
      })
      await answers(service, rotated.key, 200)
      const call = caller(service.url, old.key)
      await takesEffect(engine, async () => {
        expect((await call('GET', '/api/user/profile')).headers.get(header)).to.equal(end)
      })
      clock.pass(24 * hour)
      await answers(service, old.key, 401)
      await answers(service, rotated.key, 200)
    }))

  it('is revoked immediately without an overlap, and keeps its name', () =>
    withPlace(async ({ service, administration, clock }) => {
      const old = await administration.createKey({ name: 'ci', tier: 'free' })
      const rotated = await administration.rotateKey(old.id, { overlap: 0 })
      expect(rotated.replaces).to.include({ name: 'ci', revoked_at: dateIn(clock, 0) })
      await answers(service, old.key, 401)
      await answers(service, rotated.key, 200)
      expect(await changesIn(administration)).to.deep.equal([
        ['key.create', old.id],
        ['key.revoke', old.id],
        ['key.create', rotated.id],
      ])
    }))

  it('gives its lifetime to its replacement, and does not end later than before', () =>
    withPlace(async ({ administration, clock }) => {
      const end = dateIn(clock, 10 * hour)
      await administration.createKey({ name: 'ci', tier: 'free', expiresAt: end })
      clock.pass(8 * hour)
      const rotated = await administration.rotateKey('ci', { overlap: 24 * hour })
      expect([rotated.expires_at, rotated.replaces.expires_at]).to.deep.equal([dateIn(clock, 10 * hour), end])
      const again = await administration.rotateKey('ci', { overlap: hour, expiresAt: null })
      expect(again.expires_at).to.equal(null)
      expect((await changesIn(administration)).slice(-2)).to.deep.equal([
        ['key.update', rotated.id],
        ['key.create', again.id],
      ])
    }))

  it('must be the only valid one of its name, or be named by its ID, like a key that is updated or revoked', () =>
    withPlace(async ({ administration }) => {
      const first = await administration.createKey({ name: 'ci', tier: 'free' })
      const second = await administration.createKey({ name: 'ci', tier: 'free' })
      const byName = [
        (name: string) => administration.rotateKey(name, { overlap: 0 }),
        (name: string) => administration.updateKey(name, { tier: 'pro' }),
        (name: string) => administration.revokeKey(name),
      ]
      for (const act of byName) {
        const ambiguous = await rejectedFailure(() => act('ci'))
        expect(ambiguous).to.include({ kind: 'usage' })
        expect(ambiguous.hint).to.contain(first.id).and.to.contain(second.id)
        const message = 'No valid API key has the ID or name "none"'
        expect(await rejectedFailure(() => act('none'))).to.include({ kind: 'not_found', message })
      }
      await administration.revokeKey(first.id)
      const revoked = await rejectedFailure(() => administration.rotateKey(first.id, { overlap: 0 }))
      expect(revoked).to.include({ kind: 'conflict' })
      expect(await administration.updateKey('ci', { tier: 'pro' })).to.include({ id: second.id, tier: 'pro' })
      expect(await administration.revokeKey('ci')).to.include({ id: second.id, tier: 'pro' })
      expect(await administration.listKeys()).to.have.length(2)
    }))

  it('has a replacement with at most 200 characters in its old name', () =>
    withPlace(async ({ administration }) => {
      const name = '🦛'.repeat(200)
      await administration.createKey({ name, tier: 'free' })
      const { replaces } = await administration.rotateKey(name, { overlap: hour })
      expect([...replaces.name]).to.have.length(200)
      expect(replaces.name).to.match(/ \(rotated\)$/)
    }))

  it('sends no expiry header for a key that never ends', () =>
    withPlace(async ({ service, administration }) => {
      const { key } = await administration.createKey({ name: 'ci', tier: 'free' })
      expect((await caller(service.url, key)('GET', '/api/user/profile')).headers.get(header)).to.equal(null)
    }))
})

/** Actions and targets, the oldest first. */
async function changesIn(administration: Administration) {
  const changes = await administration.listChanges({ action: 'key', limit: 10 })
  return changes.map(({ action, target }) => [action, target])
}
