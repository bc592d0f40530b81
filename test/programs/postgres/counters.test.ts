import { expect } from 'chai'
import { CompiledQuery } from 'kysely'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { faultOf } from '../../../src/service/store/storage-failure.ts'
import { agreesWithModel, ask, noWarning } from '../../service/limits/counting-model.ts'
import { withPlace } from '../../service/temporary-service.ts'
import { startPostgres } from '../../support/postgres.ts'

describe('request counters in PostgreSQL', () => {
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
