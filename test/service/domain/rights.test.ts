import { expect } from 'chai'
import fc from 'fast-check'
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.ts'
import { errorBody } from '../../../src/contract/resources/error-body.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { forAllAsync } from '../../support/for-all.ts'
import { closing } from '../../support/lifetime.ts'
import { soundCall } from '../service-calls.ts'
import { takesEffect } from '../take-effect.ts'
import { caller, onEachTransport, type TemporaryService, type WithService } from '../temporary-service.ts'
import { plantKey, plantUser } from './plant-key.ts'

const names = Object.keys(endpoints) as EndpointName[]

const chat = ['read:chat', 'write:chat']
const profile = ['read:profile', 'write:profile']
const settings = ['read:settings', 'write:settings']
const users = ['read:users', 'write:users']
const all = [...chat, ...profile, ...settings, ...users, 'write:api', 'assign:permissions']

/** The roles of docs/reference/service.md, written out. */
const roles: Record<string, readonly string[]> = {
  admin: all,
  editor: [...chat, ...profile, ...settings, 'read:users'],
  member: [...chat, ...profile, 'read:settings'],
}

/** The permissions that each pattern matches, written out. */
const patterns: Record<string, readonly string[]> = {
  '*:*': all,
  '*:chat': chat,
  '*:profile': profile,
  '*:settings': settings,
  '*:users': users,
  '*:api': ['write:api'],
  '*:permissions': ['assign:permissions'],
  'read:*': ['read:chat', 'read:profile', 'read:settings', 'read:users'],
  'write:*': ['write:chat', 'write:profile', 'write:settings', 'write:users', 'write:api'],
  'assign:*': ['assign:permissions'],
}

/** Permissions that no endpoint requires. */
const foreign = 'deploy:chat read:files *:files delete:users readx:chat read:chats read:user'.split(' ')

const expand = (granted: readonly string[]) => granted.flatMap((grant) => patterns[grant] ?? [grant])

/** A service, with a separate connection to its database, as another process would have one. */
async function withDatabaseOf(
  withService: WithService,
  use: (service: TemporaryService, db: Database) => Promise<void>,
): Promise<void> {
  await withService(async (service) => {
    await using store = closing(await openStore(service.place))
    await use(service, store.db)
  })
}

/** Everything that is stored, except the times at which keys were used. */
async function contents(db: Database): Promise<unknown> {
  return {
    users: await db.selectFrom('users').selectAll().orderBy('id').execute(),
    preferences: await db.selectFrom('preferences').selectAll().orderBy('user_id').execute(),
    settings: await db.selectFrom('settings').selectAll().execute(),
    api: await db.selectFrom('api_configuration').selectAll().execute(),
    contexts: await db.selectFrom('contexts').selectAll().orderBy('id').execute(),
    messages: await db.selectFrom('messages').selectAll().orderBy('seq').execute(),
    keys: await db.selectFrom('api_keys').select(['id', 'permissions', 'revoked_at']).orderBy('id').execute(),
    audit: await db.selectFrom('audit_log').selectAll().orderBy('seq').execute(),
  }
}

onEachTransport('permissions of the embedded service', (withService, engine) => {
  const withDatabase = (use: Parameters<typeof withDatabaseOf>[1]) => withDatabaseOf(withService, use)

  it('match the documented table for every endpoint and every kind of caller', () =>
    withDatabase(async ({ url }, db) => {
      const target = await plantUser(db)
      const past = '2026-01-01T00:00:00.000Z'
      const member = await plantUser(db)
      const editor = await plantUser(db, { role: 'editor' })
      const admin = await plantUser(db, { role: 'admin' })
      const more = await plantUser(db, { permissions: '["write:users","deploy:chat"]' })
      const none = await plantUser(db, { role: 'emperor' })
      const { member: memberRights = [] } = roles
      // Every key may read the profile of its user.
      const own = 'read:profile'
      const beyond = { user_id: member.id, permissions: '["*:users","read:chat"]' }
      const valid: [string, { id: string; key: string }, readonly string[]][] = [
        ['a member', await plantKey(db, { user_id: member.id }), memberRights],
        ['an editor', await plantKey(db, { user_id: editor.id }), roles['editor'] ?? []],
        ['an admin', await plantKey(db, { user_id: admin.id }), all],
        ['the built-in admin', await plantKey(db), all],
        ['a member with more', await plantKey(db, { user_id: more.id }), [...memberRights, 'write:users']],
        ['a role that is unknown', await plantKey(db, { user_id: none.id }), []],
        ['a key for one thing', await plantKey(db, { permissions: '["read:users"]' }), ['read:users', own]],
        ['a key for nothing', await plantKey(db, { permissions: '[]' }), [own]],
        ['a key for more than its user may', await plantKey(db, beyond), ['read:chat', own]],
      ]
      for (const [who, { key }, rights] of valid) {
        const call = caller(url, key)
        for (const name of names) {
          const { method, path, body, permission, status } = soundCall(name, target.id)
          const before = rights.includes(permission) ? undefined : await contents(db)
          const answer = await call(method, path, body)
          if (!before) {
            expect(answer.status, `${who}: ${name} ${answer.text}`).to.equal(status)
            continue
          }
          expect(answer.status, `${who}: ${name}`).to.equal(403)
          const { error } = errorBody.parse(answer.body)
          expect(error.code).to.equal('forbidden')
          expect(error.details).to.deep.equal({ missing_permission: permission })
          expect(error.message).to.contain(permission)
          expect(await contents(db), `${who}: ${name}`).to.deep.equal(before)
        }
      }

      const before = await contents(db)
      const invalid: [string, string | undefined][] = [
        ['no key', undefined],
        ['an unknown key', `ck_${'x'.repeat(43)}`],
        ['a revoked key', (await plantKey(db, { revoked_at: past })).key],
        ['an expired key', (await plantKey(db, { expires_at: past })).key],
      ]
      const messages = new Set<string>()
      for (const [who, key] of invalid)
        for (const name of names) {
          const { method, path, body } = soundCall(name, target.id)
          const answer = await caller(url, key)(method, path, body)
          expect(answer.status, `${who}: ${name}`).to.equal(401)
          expect(answer.body.error.code).to.equal('unauthorized')
          expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/)
          if (key) messages.add(answer.body.error.message)
        }
      expect([...messages]).to.deep.equal(['Invalid API key'])
      const { keys: _, ...unchanged } = before as Record<string, unknown>
      expect(await contents(db)).to.deep.include(unchanged)
    }))

  it('match a simple model, whatever is assigned, from the next request on', () =>
    withDatabase(async ({ url }, db) => {
      const target = await plantUser(db)
      const user = await plantUser(db)
      const { id, key } = await plantKey(db, { user_id: user.id })
      const call = caller(url, key)
      const grants = fc.subarray([...all, ...Object.keys(patterns), ...foreign], { maxLength: 4 })
      await forAllAsync(
        fc.constantFrom('admin', 'editor', 'member', 'member'),
        grants,
        fc.option(grants),
        fc.constantFrom(...names),
        async (role, assigned, onKey, name) => {
          const permissions = JSON.stringify(assigned)
          await db.updateTable('users').set({ role, permissions }).where('id', '=', user.id).execute()
          const limited = onKey && JSON.stringify(onKey)
          await db.updateTable('api_keys').set({ permissions: limited }).where('id', '=', id).execute()
          const { method, path, body, permission, status } = soundCall(name, target.id)
          const held = [...(roles[role] ?? []), ...expand(assigned)]
          const mayUser = held.includes(permission)
          // Every key may read the profile of its user.
          const ofKey = onKey === null ? all : ['read:profile', ...expand(onKey)]
          const mayKey = ofKey.includes(permission)
          // The target is a member: a user who assigns permissions must hold those of a member.
          const covers = (roles['member'] ?? []).every(
            (right) => held.includes(right) && ofKey.includes(right),
          )
          const may = mayUser && mayKey && (name !== 'assignPermissions' || covers)
          await takesEffect(engine, async () => {
            const answer = await call(method, path, body)
            expect(answer.status, answer.text).to.equal(may ? status : 403)
          })
        },
      )
    }))

  it('are checked before anything is looked up or read', () =>
    withDatabase(async ({ url }, db) => {
      const call = caller(url, (await plantKey(db, { user_id: (await plantUser(db)).id })).key)
      for (const [method, path, body] of [
        ['GET', '/v1/users/usr_nope', undefined],
        ['PATCH', '/v1/users/usr_nope', { name: 'x' }],
        ['POST', '/v1/users/usr_nope/permissions', { role: 'member' }],
        ['POST', '/v1/users', '{'],
        ['PATCH', '/v1/settings', { invalid: true }],
      ] as const)
        expect((await call(method, path, body)).status, `${method} ${path}`).to.equal(403)
      expect((await call('GET', '/v1/nope')).status).to.equal(404)
      expect((await call('DELETE', '/v1/users')).status).to.equal(405)
    }))

  it("do not extend to another user's conversations, not even for an admin", () =>
    withDatabase(async ({ url, call }, db) => {
      const theirs = caller(url, (await plantKey(db, { user_id: (await plantUser(db)).id })).key)
      const { body } = await theirs('POST', '/api/chat/send', { message: 'mine' })
      const asked = { message: 'x', context_id: body.context_id }
      for (const other of [call, caller(url, (await plantKey(db)).key)]) {
        for (const { status, body: answer } of [
          await other('GET', `/api/chat/history?context_id=${body.context_id}`),
          await other('POST', '/api/chat/send', asked),
          await other('POST', '/api/chat/send', { ...asked, stream: true }),
        ])
          expect([status, answer.error.code]).to.deep.equal([404, 'context_not_found'])
        const before = await other('GET', `/api/chat/history?before=${body.id}`)
        expect(before.body.error.code).to.equal('invalid_request')
        expect((await other('GET', '/api/chat/history')).body.messages).to.deep.equal([])
      }
      expect((await theirs('GET', '/api/chat/history')).body.messages).to.have.length(2)
    }))
})
