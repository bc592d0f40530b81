import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { CompiledQuery } from 'kysely'
import type { Ask, Counters, Taken } from '../../../src/service/limits/counters.ts'
import { SqliteCounters } from '../../../src/service/limits/sqlite-counters.ts'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { isUnavailable } from '../../../src/service/store/storage-failure.ts'
import { loadSqlite } from '../../../src/system/load-sqlite.ts'
import { needPostgres, startPostgres } from '../../support/postgres.ts'
import { withFolder, withPlace } from '../temporary-service.ts'

const noWarning = (message: string, error: unknown) => {
  throw new Error(message, { cause: error })
}

const ask = (given: Partial<Ask> = {}): Ask => ({
  keyId: 'k',
  wanted: 1,
  hour: 100,
  minute: 6_000,
  hourlyLimit: 5,
  minuteLimit: 1_000,
  ...given,
})

/** The plainest thing that does the same. */
class Model {
  readonly #windows = new Map<string, { at: number; count: number }>()

  take({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: Ask): Taken {
    const hours = this.#window(`${keyId} hour`, hour, 1)
    const minutes = this.#window(`${keyId} minute`, minute, 60)
    let granted = 0
    while (
      granted < wanted &&
      (hourlyLimit === null || hours.count < hourlyLimit) &&
      (minuteLimit === null || minutes.count < minuteLimit)
    ) {
      granted += 1
      hours.count += 1
      minutes.count += 1
    }
    return {
      granted,
      hour: hours.at,
      hourCount: hours.count,
      minute: minutes.at,
      minuteCount: minutes.count,
    }
  }

  #window(name: string, now: number, tolerance: number) {
    let window = this.#windows.get(name)
    if (!window || window.at < now || window.at > now + tolerance) window = { at: now, count: 0 }
    this.#windows.set(name, window)
    return window
  }
}

const limit = fc.option(fc.integer({ min: 1, max: 12 }), { nil: null })
const anyAsk = fc.record({
  wanted: fc.integer({ min: 1, max: 8 }),
  hour: fc.integer({ min: 100, max: 104 }),
  minute: fc.oneof(fc.integer({ min: 6_000, max: 6_003 }), fc.integer({ min: 6_000, max: 6_130 })),
  hourlyLimit: limit,
  minuteLimit: limit,
})
/** Turns, each with at most one ask of a key. */
const turns = fc.array(
  fc
    .uniqueArray(fc.constantFrom('a', 'b', "it's c"), { minLength: 1 })
    .chain((keys) => fc.tuple(...keys.map((keyId) => anyAsk.map((given) => ({ keyId, ...given }))))),
  { minLength: 1, maxLength: 25 },
)

async function agreesWithModel(
  open: () => Promise<{ counters: Counters[]; close(): Promise<void> }>,
  numRuns: number,
) {
  await fc.assert(
    fc.asyncProperty(turns, async (asked) => {
      const { counters, close } = await open()
      try {
        const model = new Model()
        for (const [index, asks] of asked.entries()) {
          const expected = asks.map((one) => model.take(one))
          expect(await counters[index % counters.length]?.take(asks)).to.deep.equal(expected)
        }
      } finally {
        await close()
      }
    }),
    { numRuns },
  )
}

describe('counting requests in a file', () => {
  it('agrees with a plain model, on two connections in turn', () =>
    agreesWithModel(
      () =>
        new Promise((opened, failed) => {
          withFolder(
            (folder) =>
              new Promise<void>((remove) => {
                const counters = [
                  new SqliteCounters(folder, noWarning),
                  new SqliteCounters(folder, noWarning),
                ]
                const close = async () => {
                  for (const one of counters) await one.close()
                  remove()
                }
                opened({ counters, close })
              }),
          ).catch(failed)
        }),
      150,
    ))

  it('makes the file at the first ask, for its owner alone, and keeps the counts', () =>
    withFolder(async (folder) => {
      const first = new SqliteCounters(folder, noWarning)
      expect(readdirSync(folder)).to.deep.equal([])
      await first.take([ask({ wanted: 3 })])
      for (const name of readdirSync(folder)) {
        expect(statSync(join(folder, name)).mode & 0o777, name).to.equal(0o600)
      }
      await first.close()
      expect(readdirSync(folder)).to.deep.equal(['limits.db'])
      const second = new SqliteCounters(folder, noWarning)
      expect(await second.take([ask({ wanted: 3 })])).to.deep.equal([
        { granted: 2, hour: 100, hourCount: 5, minute: 6_000, minuteCount: 5 },
      ])
      await second.close()
    }))

  it('waits for another writer without holding up the thread', () =>
    withFolder(async (folder) => {
      const counters = new SqliteCounters(folder, noWarning)
      await counters.take([ask()])
      const { DatabaseSync } = loadSqlite()
      const other = new DatabaseSync(join(folder, 'limits.db'))
      other.exec('begin immediate')
      let longest = 0
      let last = performance.now()
      const beat = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 5)
      setTimeout(() => other.exec('commit'), 400)
      const startedAt = performance.now()
      expect((await counters.take([ask()]))[0]).to.include({ granted: 1, hourCount: 2 })
      clearInterval(beat)
      expect(performance.now() - startedAt).to.be.above(350)
      expect(longest).to.be.below(200)
      other.close()
      await counters.close()
    }))

  for (const [name, damage] of [
    [
      'text',
      () => Buffer.from('this is not a database, and is long enough to be looked at as one.'.repeat(100)),
    ],
    [
      'a header with noise behind it',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(9000, 0x5a)]),
    ],
  ] as const) {
    it(`begins a new file where the old one is ${name}, says so, and leaves the old one`, () =>
      withFolder(async (folder) => {
        const before = new SqliteCounters(folder, noWarning)
        await before.take([ask(), ask({ keyId: 'other' })])
        await before.close()
        const file = join(folder, 'limits.db')
        const damaged = damage(readFileSync(file))
        writeFileSync(file, damaged)
        const warnings: string[] = []
        const warn = (message: string) => warnings.push(message)
        const after = [new SqliteCounters(folder, warn), new SqliteCounters(folder, warn)]
        const granted: (number | undefined)[] = []
        for (const index of [0, 1, 0, 1]) {
          granted.push((await after[index]?.take([ask({ wanted: 2 })]))?.[0]?.granted)
        }
        expect(granted).to.deep.equal([2, 2, 1, 0])
        expect(warnings).to.have.length(1)
        expect(warnings[0]).to.include(file).and.include('damaged')
        for (const one of after) await one.close()
        expect(readdirSync(folder)).to.include.members(['limits.db', 'limits-2.db'])
        expect(readFileSync(file).equals(damaged)).to.equal(true)
        const again = new SqliteCounters(folder, noWarning)
        expect((await again.take([ask()]))[0]).to.include({ granted: 0, hourCount: 5 })
        await again.close()
      }))
  }

  it('goes on to a file that another process has begun', function () {
    this.timeout(10_000)
    return withFolder(async (folder) => {
      const counters = new SqliteCounters(folder, noWarning)
      await counters.take([ask({ wanted: 5 })])
      writeFileSync(join(folder, 'limits-2.db'), '')
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      expect((await counters.take([ask({ wanted: 5 })]))[0]).to.include({ granted: 5 })
      await counters.close()
    })
  })

  it('counts by itself while the file cannot be used, and then together again', function () {
    this.timeout(20_000)
    return withFolder(async (folder) => {
      const warnings: string[] = []
      const counters = new SqliteCounters(folder, (message) => warnings.push(message))
      const { DatabaseSync } = loadSqlite()
      await counters.take([ask()])
      const other = new DatabaseSync(join(folder, 'limits.db'))
      other.exec('begin immediate')
      for (const granted of [3, 2, 0]) {
        expect((await counters.take([ask({ wanted: 3 })]))[0]).to.include({ granted })
      }
      expect(warnings).to.have.length(1)
      other.exec('commit')
      other.close()
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      expect((await counters.take([ask({ wanted: 5 })]))[0]).to.include({ granted: 4, hourCount: 5 })
      expect(warnings).to.have.length(1)
      await counters.close()
    })
  })

  it('tries again where the folder could not be written', function () {
    if (process.getuid?.() === 0) this.skip()
    return withFolder(async (folder) => {
      chmodSync(folder, 0o500)
      const warnings: string[] = []
      const counters = new SqliteCounters(folder, (message) => warnings.push(message))
      expect((await counters.take([ask({ wanted: 9 })]))[0]).to.include({ granted: 5 })
      expect(warnings).to.have.length(1)
      chmodSync(folder, 0o700)
      await counters.close()
    })
  })
})

describe('counting requests in PostgreSQL', function () {
  this.timeout(60_000)
  before(function () {
    needPostgres(this)
  })

  it('agrees with a plain model, in two processes in turn', () =>
    withPlace('postgres', async ({ database = '' }) => {
      const stores = [await openPostgres(database), await openPostgres(database)]
      const counters = stores.map((store) => store.openCounters(noWarning))
      await counters[0]?.take([ask()])
      await agreesWithModel(async () => {
        await stores[0]?.db.executeQuery(CompiledQuery.raw('truncate request_counts'))
        return { counters, close: async () => {} }
      }, 60)
      for (const store of stores) await store.close()
    }))

  it('makes its table once, however many come first, and grants exactly the limit', () =>
    withPlace('postgres', async ({ database = '' }) => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres(database)))
      const all = stores.flatMap((store) => {
        const counters = store.openCounters(noWarning)
        return Array.from({ length: 100 }, () =>
          counters.take([ask({ hourlyLimit: 77 }), ask({ keyId: 'b' })]),
        )
      })
      const taken = await Promise.all(all)
      const sum = (index: number) => taken.reduce((total, one) => total + (one[index]?.granted ?? 0), 0)
      expect([sum(0), sum(1)]).to.deep.equal([77, 5])
      // What the counters do without, everything else has.
      const setting = CompiledQuery.raw("select current_setting('synchronous_commit') as it")
      for (const { db } of stores) expect((await db.executeQuery(setting)).rows).to.deep.equal([{ it: 'on' }])
      for (const store of stores) await store.close()
    }))

  it('admits nothing while the database is away, says so soon, and goes on when it is back', async () => {
    const server = await startPostgres()
    const store = await openPostgres(await server.createDatabase())
    const counters = store.openCounters(noWarning)
    expect((await counters.take([ask({ wanted: 3 })]))[0]).to.include({ granted: 3 })
    await server.stop('fast')
    const startedAt = performance.now()
    const error = await counters.take([ask()]).catch((cause) => cause)
    expect(isUnavailable(error), String(error)).to.equal(true)
    expect(performance.now() - startedAt).to.be.below(5_000)
    await server.start()
    expect((await counters.take([ask({ wanted: 9 })]))[0]).to.include({ granted: 2, hourCount: 5 })
    await store.close()
    await server.close()
  })
})
