import { expect } from 'chai'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { closing } from '../../support/lifetime.ts'
import { type Answer, caller, onEachTransport, type WithService } from '../temporary-service.ts'
import { plantKey, plantUser } from './plant-key.ts'

type Assign = (id: string, body: object) => Promise<Answer>

/** An editor with the permission assign:permissions, and a database to inspect. */
async function withEditorOf(
  withService: WithService,
  use: (assign: Assign, db: Database, own: string) => Promise<void>,
): Promise<void> {
  await withService(async ({ url, place }) => {
    await using store = closing(await openStore(place))
    const editor = await plantUser(store.db, { role: 'editor', permissions: '["assign:permissions"]' })
    const call = caller(url, (await plantKey(store.db, { user_id: editor.id })).key)
    const assign: Assign = (id, body) => call('POST', `/v1/users/${id}/permissions`, body)
    await use(assign, store.db, editor.id)
  })
}

function expectMissing(answer: Answer, missing: string[]): void {
  expect(answer.status, answer.text).to.equal(403)
  expect(answer.body.error.code).to.equal('forbidden')
  expect(answer.body.error.details).to.deep.equal({
    missing_permission: missing[0],
    missing_permissions: missing,
  })
}

onEachTransport('permissions of the embedded service', (withService) => {
  const withEditor = (use: Parameters<typeof withEditorOf>[1]) => withEditorOf(withService, use)

  it('can be assigned by a user who holds them', () =>
    withEditor(async (assign, db) => {
      const member = await plantUser(db)
      const permissions = ['read:users', '*:chat', 'assign:permissions']
      const answer = await assign(member.id, { permissions, role: 'editor' })
      expect(answer.body).to.deep.equal({ id: member.id, permissions, role: 'editor' })
    }))

  it('cannot be assigned by a user who does not hold them, in any notation', () =>
    withEditor(async (assign, db, own) => {
      const member = await plantUser(db)
      for (const id of [member.id, own]) {
        expectMissing(await assign(id, { role: 'admin' }), ['*:*'])
        expectMissing(await assign(id, { permissions: ['*:*'] }), ['*:*'])
        expectMissing(await assign(id, { permissions: ['read:chat', 'write:users', 'write:api'] }), [
          'write:users',
          'write:api',
        ])
        expectMissing(await assign(id, { permissions: ['*:users'] }), ['*:users'])
        expectMissing(await assign(id, { permissions: ['read:*'] }), ['read:*'])
        expectMissing(await assign(id, { permissions: ['deploy:rockets'] }), ['deploy:rockets'])
      }
      const rows = await db.selectFrom('users').select(['id', 'role', 'permissions']).execute()
      expect(rows).to.deep.include({ id: member.id, role: 'member', permissions: '[]' })
      expect(rows).to.deep.include({ id: own, role: 'editor', permissions: '["assign:permissions"]' })
      expect(await db.selectFrom('audit_log').selectAll().execute()).to.deep.equal([])
      // Missing permissions are reported before the user is looked up.
      expectMissing(await assign('usr_nope', { role: 'admin' }), ['*:*'])
    }))

  it('of a user who holds more cannot be changed', () =>
    withEditor(async (assign, db) => {
      const admin = await plantUser(db, { role: 'admin' })
      const operator = await plantUser(db, { permissions: '["write:api"]' })
      expectMissing(await assign(admin.id, { role: 'member' }), ['*:*'])
      expectMissing(await assign('usr_admin', { role: 'member' }), ['*:*'])
      expectMissing(await assign(operator.id, { permissions: [] }), ['write:api'])
    }))

  it('cannot be assigned with a key that lacks them, even if its user has them', () =>
    withService(async ({ url, place }) => {
      const { db, close } = await openStore(place)
      const member = await plantUser(db)
      const { key } = await plantKey(db, { permissions: '["assign:permissions","*:chat","*:profile"]' })
      const answer = await caller(url, key)('POST', `/v1/users/${member.id}/permissions`, {
        permissions: ['read:chat'],
      })
      expectMissing(answer, ['read:settings'])
      await close()
    }))

  it('are stored even if the service does not know them', () =>
    withService(async ({ url, call, place }) => {
      const { db, close } = await openStore(place)
      const user = await plantUser(db)
      const permissions = ['deploy:rockets', 'read:*']
      const answer = await call('POST', `/v1/users/${user.id}/permissions`, { permissions })
      expect(answer.body.permissions).to.deep.equal(permissions)
      const { key } = await plantKey(db, { user_id: user.id })
      expect((await caller(url, key)('GET', `/v1/users/${user.id}`)).status).to.equal(200)
      expect((await caller(url, key)('POST', '/v1/settings/api', {})).status).to.equal(403)
      await close()
    }))

  it('of the built-in admin cannot be taken away', () =>
    withService(async ({ url, place }) => {
      const { db, close } = await openStore(place)
      const { key } = await plantKey(db)
      const call = caller(url, key)
      const body = { role: 'member', permissions: [] }
      const assigned = await call('POST', '/v1/users/usr_admin/permissions', body)
      expect(assigned.body).to.deep.equal({ id: 'usr_admin', ...body })
      expect((await call('GET', '/v1/users/usr_admin')).status).to.equal(200)
      expect((await call('POST', '/v1/users/usr_admin/permissions', { role: 'admin' })).status).to.equal(200)
      await close()
    }))
})
