import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { CompiledQuery } from 'kysely'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { updateSettings } from '../../../src/service/domain/settings.ts'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { faultOf } from '../../../src/service/store/storage-failure.ts'
import type { Store } from '../../../src/service/store/tables.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { plantKey } from '../../service/domain/plant-key.ts'
import { agreesWithModel, ask, noWarning } from '../../service/limits/counting-model.ts'
import { withPlace } from '../../service/temporary-service.ts'
import { sharedPostgres, startPostgres, type TemporaryPostgres } from '../../support/postgres.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'

/** The changes that the generation counts, without those for each second. */
const changesOf = (store: Store) => store.generation() - Math.floor(performance.now() / 1000)

describe('the change feed on PostgreSQL', () => {
  let postgres: TemporaryPostgres
  before(async () => {
    postgres = await sharedPostgres()
  })

  const listeners = (url: string) =>
    postgres.query(
      `select pid from pg_stat_activity where query = 'listen chatctl' and datname = '${new URL(url).pathname.slice(1)}'`,
    )

  const withTwo = (use: (one: Store, other: Store, url: string) => Promise<void>) =>
    withPlace('postgres', async ({ database = '' }) => {
      const one = await openPostgres(database)
      const other = await openPostgres(database)
      try {
        one.generation()
        other.generation()
        await until(async () => (await listeners(database)).length === 2, 3_000)
        await pause(50)
        await use(one, other, database)
      } finally {
        await Promise.all([one.close(), other.close()])
      }
    })

  it('notifies all processes of a change immediately, and the writer before its response', () =>
    withTwo(async (one, other) => {
      const before = [changesOf(one), changesOf(other)]
      await updateSettings(one.db, { app_name: 'New' }, localAuditContext(systemClock))
      one.noteChange()
      expect(changesOf(one)).to.be.above(before[0] ?? 0)
      await until(() => changesOf(other) > (before[1] ?? 0), 500)
    }))

  it('includes changes of other programs, but not the last use of a key', () =>
    withTwo(async (one, _, url) => {
      const { id } = await plantKey(one.db)
      await pause(200)
      const before = changesOf(one)
      await one.db.updateTable('api_keys').set({ last_used_at: 'now' }).where('id', '=', id).execute()
      await postgres.query("update api_keys set last_used_at = 'then'", url)
      await postgres.query("insert into contexts values ('ctx_1', 'usr_admin', 'now')", url)
      await pause(200)
      expect(changesOf(one)).to.equal(before)
      for (const sql of [
        "update api_keys set revoked_at = 'now'",
        'delete from api_keys',
        "update users set role = 'member'",
        `update settings set document = '{"app_name":"x"}'`,
        `update api_configuration set document = '{"version":"x"}'`,
      ]) {
        const earlier = changesOf(one)
        await postgres.query(sql, url)
        await until(() => changesOf(one) > earlier, 500)
      }
    }))

  it('counts each second as a change, and reconnects after a lost connection', () =>
    withTwo(async (one, other, url) => {
      const [cut] = await listeners(url)
      const before = one.generation() + other.generation()
      await postgres.query(`select pg_terminate_backend(${cut?.['pid']})`)
      await postgres.query(`update settings set document = '{"app_name":"unheard"}'`, url)
      await until(() => one.generation() + other.generation() >= before + 3, 2_000)
      await until(async () => (await listeners(url)).length === 2, 2_000)
      await pause(50)
      const again = [changesOf(one), changesOf(other)]
      await postgres.query(`update settings set document = '{"app_name":"heard"}'`, url)
      await until(() => changesOf(one) > (again[0] ?? 0) && changesOf(other) > (again[1] ?? 0), 500)
    }))

  it('does not listen before it is read', () =>
    withPlace('postgres', async ({ database = '' }) => {
      const store = await openPostgres(database)
      await updateSettings(store.db, { app_name: 'New' }, localAuditContext(systemClock))
      expect(await listeners(database)).to.deep.equal([])
      await store.close()
    }))
})

describeSample('request counters in PostgreSQL', 1, () => {
  it('agree with a simple model, in two processes in turn', () =>
    withPlace('postgres', async ({ database = '' }) => {
      const stores = [await openPostgres(database), await openPostgres(database)]
      const counters = stores.map((store) => store.openCounters(noWarning))
      await counters[0]?.count([ask()])
      await agreesWithModel(async () => {
        await stores[0]?.db.executeQuery(CompiledQuery.raw('truncate request_counts'))
        return { counters, close: async () => {} }
      }, 60)
      for (const store of stores) await store.close()
    }))

  it('create their table once, and grant exactly the limit to concurrent requests', () =>
    withPlace('postgres', async ({ database = '' }) => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres(database)))
      const all = stores.flatMap((store) => {
        const counters = store.openCounters(noWarning)
        return Array.from({ length: 100 }, () =>
          counters.count([ask({ hourlyLimit: 77 }), ask({ keyId: 'b' })]),
        )
      })
      const taken = await Promise.all(all)
      const sum = (index: number) => taken.reduce((total, one) => total + (one[index]?.granted ?? 0), 0)
      expect([sum(0), sum(1)]).to.deep.equal([77, 5])
      // The counters turn synchronous_commit off. Everything else keeps it on.
      const setting = CompiledQuery.raw("select current_setting('synchronous_commit') as it")
      for (const { db } of stores) expect((await db.executeQuery(setting)).rows).to.deep.equal([{ it: 'on' }])
      for (const store of stores) await store.close()
    }))

  it('admit nothing while the database is down, fail soon, and resume when it is back', async () => {
    const server = await startPostgres()
    const store = await openPostgres(await server.createDatabase())
    const counters = store.openCounters(noWarning)
    expect((await counters.count([ask({ wanted: 3 })]))[0]).to.include({ granted: 3 })
    await server.stop('fast')
    const startedAt = performance.now()
    const error = await counters.count([ask()]).catch((cause) => cause)
    expect(faultOf(error), String(error)).to.equal('unavailable')
    expect(performance.now() - startedAt).to.be.below(5_000)
    await server.start()
    expect((await counters.count([ask({ wanted: 9 })]))[0]).to.include({ granted: 2, hourCount: 5 })
    await store.close()
    await server.close()
  })
})
