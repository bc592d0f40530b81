import { verify } from '@node-rs/argon2'
import { expect } from 'chai'
import { passwordCost } from '../../../src/service/domain/access/passwords.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { realCost } from '../../support/password-cost.ts'
import { onEachTransport } from '../temporary-service.ts'

const ada = {
  email: 'Ada@Example.com',
  password: 'correct horse',
  name: 'Ada',
  metadata: { company: 'A', n: 1 },
}

onEachTransport('users of the embedded service', (withService) => {
  it('are created with 201, a Location, and the resource, without the password', () =>
    withService(async ({ call }) => {
      const answer = await call('POST', '/v1/users', ada)
      expect(answer.status).to.equal(201)
      expect(answer.headers.get('location')).to.equal(`/v1/users/${answer.body.id}`)
      expect(answer.body.id).to.match(/^usr_[0-9a-z]{26}$/)
      expect(answer.body).to.deep.include({ email: ada.email, name: ada.name, metadata: ada.metadata })
      expect(answer.body.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(answer.text).not.to.include(ada.password)
      expect((await call('GET', answer.headers.get('location') ?? '')).body).to.deep.equal(answer.body)
    }))

  it('have their password stored as argon2id, and nowhere else', () =>
    withService(async ({ call, place }) => {
      const cheap = { ...passwordCost }
      try {
        Object.assign(passwordCost, realCost)
        await call('POST', '/v1/users', ada)
      } finally {
        Object.assign(passwordCost, cheap)
      }
      const store = await openStore(place)
      const rows = await store.db
        .selectFrom('users')
        .selectAll()
        .where('password_hash', 'is not', null)
        .execute()
      await store.close()
      expect(rows).to.have.length(1)
      const hash = String(rows[0]?.password_hash)
      expect(hash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect(await verify(hash, ada.password)).to.equal(true)
      expect(JSON.stringify(rows)).not.to.include(ada.password)
    }))

  it('have ids that sort by creation time', () =>
    withService(async ({ call }) => {
      const ids: string[] = []
      for (let index = 0; index < 5; index++)
        ids.push((await call('POST', '/v1/users', { ...ada, email: `u${index}@example.com` })).body.id)
      expect([...ids].sort()).to.deep.equal(ids)
    }))

  it('cannot share an email address in any case, even if they are created at the same time', () =>
    withService(async ({ call }) => {
      const answers = await Promise.all(
        ['ada@example.com', 'ADA@example.com', 'Ada@Example.COM'].map((email) =>
          call('POST', '/v1/users', { ...ada, email }),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409])
      const taken = answers.find(({ status }) => status === 409)
      expect(taken?.body.error.code).to.equal('email_taken')
      expect(taken?.body.error.details.id).to.equal(answers.find(({ status }) => status === 201)?.body.id)
    }))

  it('need an email address and a password of at least 8 characters', () =>
    withService(async ({ call }) => {
      const bad = await call('POST', '/v1/users', { email: 'nobody', password: 'short', name: 5 })
      expect(bad.status).to.equal(400)
      const paths = bad.body.error.details.faults.map(({ path }: { path: string }) => path)
      expect(paths).to.have.members(['email', 'password', 'name'])
      for (const hidden of ['\u200b', '\u001b', '\u202e', '\ud800', '\ufe0f', '\u3164']) {
        const email = `ada${hidden}@example.com`
        const answer = await call('POST', '/v1/users', { ...ada, email })
        expect(answer.body.error?.details.faults[0].path, JSON.stringify(email)).to.equal('email')
      }
      expect((await call('POST', '/v1/users', {})).body.error.details.faults).to.have.length(2)
    }))

  it('are updated key by key, and null removes a metadata key', () =>
    withService(async ({ call }) => {
      const { body: user } = await call('POST', '/v1/users', ada)
      const path = `/v1/users/${user.id}`
      const one = await call('PATCH', path, { metadata: { company: 'B', role: 'x' } })
      expect(one.body).to.deep.equal({ ...user, metadata: { company: 'B', n: 1, role: 'x' } })
      const two = await call('PATCH', path, { name: 'Lovelace', metadata: { company: null } })
      expect(two.body).to.deep.include({ name: 'Lovelace', metadata: { n: 1, role: 'x' } })
      const three = await call('PATCH', path, { settings: { theme: 'dark' } })
      expect(three.body.settings).to.deep.equal({ theme: 'dark', notifications_enabled: true })
      expect((await call('GET', path)).body).to.deep.equal(three.body)
      expect((await call('PATCH', path, {})).body).to.deep.equal(three.body)
    }))

  it('are assigned permissions and a role, each of which replaces the old value', () =>
    withService(async ({ call }) => {
      const { body: user } = await call('POST', '/v1/users', ada)
      const path = `/v1/users/${user.id}/permissions`
      const one = await call('POST', path, { permissions: ['read:chat', 'write:chat', 'read:chat'] })
      expect(one.body).to.deep.equal({
        id: user.id,
        permissions: ['read:chat', 'write:chat'],
        role: 'member',
      })
      const two = await call('POST', path, { role: 'editor' })
      expect(two.body).to.deep.equal({ ...one.body, role: 'editor' })
      const three = await call('POST', path, { permissions: [] })
      expect(three.body).to.deep.equal({ ...two.body, permissions: [] })
    }))

  it('cannot be assigned an unknown role, a malformed permission, or nothing', () =>
    withService(async ({ call }) => {
      const path = '/v1/users/usr_admin/permissions'
      for (const body of [{ role: 'emperor' }, { permissions: ['chat'] }, { permissions: ['a:b:c'] }, {}])
        expect((await call('POST', path, body)).status, JSON.stringify(body)).to.equal(400)
    }))

  it('that do not exist result in 404 on every endpoint', () =>
    withService(async ({ call }) => {
      const path = '/v1/users/usr_nope'
      for (const [method, url, body] of [
        ['GET', path, undefined],
        ['PATCH', path, { name: 'x' }],
        ['POST', `${path}/permissions`, { role: 'editor' }],
        ['GET', `/v1/users/${encodeURIComponent('../x')}`, undefined],
        ['GET', `/v1/users/${'x'.repeat(150)}`, undefined],
      ] as const) {
        const answer = await call(method, url, body)
        expect(answer.status, url).to.equal(404)
        expect(answer.body.error.code).to.equal('user_not_found')
      }
    }))
})

onEachTransport('preferences of the embedded service', (withService) => {
  it('are one record with four views', () =>
    withService(async ({ call }) => {
      const put = await call('PUT', '/api/user/settings', {
        theme: 'dark',
        language: 'pt-BR',
        notifications: { push: true },
      })
      expect(put.body).to.deep.equal({
        success: true,
        settings: { theme: 'dark', language: 'pt-BR', notifications: { email: true, push: true } },
      })
      const { body: preferences } = await call('GET', '/v1/settings/preferences')
      expect(preferences).to.deep.equal({
        language: 'pt-BR',
        timezone: 'UTC',
        notifications: { email: true, push: true },
        display: { theme: 'dark', font_size: 'medium' },
      })
      const { body: profile } = await call('GET', '/api/user/profile')
      expect(profile.preferences).to.deep.equal(preferences)
      const { body: user } = await call('GET', `/v1/users/${profile.id}`)
      expect(user.settings).to.deep.equal({ theme: 'dark', notifications_enabled: true })
    }))

  it('follow the settings of the user', () =>
    withService(async ({ call }) => {
      const set = (enabled: boolean) =>
        call('PATCH', '/v1/users/usr_admin', { settings: { notifications_enabled: enabled, theme: 'light' } })
      const notifications = async () => (await call('GET', '/v1/settings/preferences')).body.notifications
      await set(false)
      expect(await notifications()).to.deep.equal({ email: false, push: false })
      await set(true)
      expect(await notifications()).to.deep.equal({ email: true, push: false })
      await call('PUT', '/api/user/settings', { notifications: { email: false, push: true } })
      await set(true)
      expect(await notifications()).to.deep.equal({ email: false, push: true })
    }))

  it('reject unknown themes, languages, and channels', () =>
    withService(async ({ call }) => {
      const answer = await call('PUT', '/api/user/settings', {
        theme: 'blue',
        language: 'not a language',
        notifications: { sms: true, email: true, fax: 'x' },
      })
      expect(answer.status).to.equal(400)
      const paths = answer.body.error.details.faults.map(({ path }: { path: string }) => path)
      expect(paths).to.deep.equal(['theme', 'language', 'notifications.sms', 'notifications.fax'])
      const wrong = await call('PUT', '/api/user/settings', { notifications: { email: 'yes' } })
      expect(wrong.status).to.equal(400)
    }))
})
