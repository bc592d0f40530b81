import { expect } from 'chai'
import { KeyAuthenticator } from '../../../src/service/domain/access/key-authenticator.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Store } from '../../../src/service/store/tables.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { takesEffect } from '../take-effect.ts'
import { type Engine, onEachTransport, withPlace } from '../temporary-service.ts'
import { plantKey, plantUser } from './plant-key.ts'

/** Two connections to one database, as two processes have. */
const withStoresOn = (engine: Engine, use: (store: Store, other: Store) => Promise<void>): Promise<void> =>
  withPlace(engine, async (place) => {
    const [store, other] = [await openStore(place), await openStore(place)]
    try {
      await use(store, other)
    } finally {
      await other.close()
      await store.close()
    }
  })

const revoked = { revoked_at: '2026-01-01T00:00:00.000Z' }

onEachTransport('callers of the embedded service', (_, engine) => {
  const withStores = (use: Parameters<typeof withStoresOn>[1]) => withStoresOn(engine, use)
  const seen = (check: () => Promise<void>) => takesEffect(engine, check)

  it('are cached as long as the database reports no change', () =>
    withStores(async (store, other) => {
      const { key } = await plantKey(store.db)
      const callers = new KeyAuthenticator({ ...store, generation: () => 1 }, systemClock)
      const caller = await callers.find(key)
      expect(caller).to.include({ userId: 'usr_admin', hourlyLimit: null, isRateLimited: true })
      await other.db.updateTable('api_keys').set(revoked).execute()
      expect(await callers.find(key)).to.equal(caller)
      expect(await new KeyAuthenticator(store, systemClock).find(key)).to.equal(undefined)
      await callers.close()
    }))

  for (const which of ['this', 'another'] as const)
    it(`are read again after a change by ${which} connection`, () =>
      withStores(async (store, other) => {
        const { db } = which === 'this' ? store : other
        const user = await plantUser(store.db)
        const { key } = await plantKey(store.db, { user_id: user.id })
        const callers = new KeyAuthenticator(store, systemClock)
        const may = async (permission: string) => (await callers.find(key))?.can(permission)
        expect(await may('read:users')).to.equal(false)
        await db.updateTable('users').set({ role: 'editor' }).where('id', '=', user.id).execute()
        await seen(async () => {
          expect(await may('read:users')).to.equal(true)
        })
        await db.updateTable('api_keys').set({ permissions: '["read:chat"]' }).execute()
        await seen(async () => {
          expect([await may('read:users'), await may('read:chat')]).to.deep.equal([false, true])
        })
        await db.updateTable('api_keys').set({ hourly_limit: 5, tier: 'pro' }).execute()
        await seen(async () => {
          expect(await callers.find(key)).to.include({ hourlyLimit: 5 })
        })
        await db.updateTable('api_keys').set(revoked).execute()
        await seen(async () => {
          expect(await callers.find(key)).to.equal(undefined)
        })
        await callers.close()
      }))

  it('lose access at the moment when their key expires', () =>
    withStores(async (store) => {
      const { key } = await plantKey(store.db, { expires_at: '2026-06-01T00:00:00.000Z' })
      const clock = new SteppedClock(undefined, Date.parse('2026-05-31T23:59:59.999Z'))
      const callers = new KeyAuthenticator({ ...store, generation: () => 1 }, clock)
      expect(await callers.find(key)).to.include({ userId: 'usr_admin' })
      clock.pass(1)
      expect(await callers.find(key)).to.equal(undefined)
      await callers.close()
    }))

  it('have the last use of their key recorded to the minute', () =>
    withStores(async (store, other) => {
      const { id, key } = await plantKey(store.db)
      const clock = new SteppedClock(undefined, Date.parse('2026-05-31T12:00:00.000Z'))
      const callers = new KeyAuthenticator(store, clock)
      const use = async () => {
        await Promise.all([callers.find(key), callers.find(key)])
        await callers.close()
        const { last_used_at } = await other.db
          .selectFrom('api_keys')
          .select('last_used_at')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        return last_used_at
      }
      expect(await use()).to.equal('2026-05-31T12:00:00.000Z')
      clock.pass(59_999)
      expect(await use()).to.equal('2026-05-31T12:00:00.000Z')
      clock.pass(1)
      expect(await use()).to.equal('2026-05-31T12:01:00.000Z')
    }))

  it('are found even if there are more than the cache holds', () =>
    withStores(async (store) => {
      const keys = await store.db.transaction().execute(async (transaction) => {
        const planted = []
        for (let index = 0; index < 1_050; index++)
          planted.push(await plantKey(transaction, { last_used_at: '2999-01-01T00:00:00.000Z' }))
        return planted
      })
      const callers = new KeyAuthenticator({ ...store, generation: () => 1 }, systemClock)
      for (const round of [1, 2])
        for (const { id, key } of keys) expect(await callers.find(key), `${round}`).to.include({ keyId: id })
      for (let index = 0; index < 50; index++) expect(await callers.find(`ck_${index}`)).to.equal(undefined)
      await callers.close()
    }))
})
