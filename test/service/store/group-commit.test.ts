import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { expect } from 'chai'
import { array, assert, asyncProperty, boolean, integer, readConfigureGlobal, record } from 'fast-check'
import { GroupCommit } from '../../../src/service/store/sqlite/group-commit.ts'
import { openSqlite, type SqliteStore } from '../../../src/service/store/sqlite/open-sqlite.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { loadSqlite } from '../../../src/system/sqlite.ts'
import { closing } from '../../support/lifetime.ts'
import { SkippingClock } from '../../support/stepped-clock.ts'
import { withDirectory } from '../temporary-service.ts'

const { DatabaseSync } = loadSqlite()

const withStore = <T>(use: (store: SqliteStore, directory: string) => Promise<T>): Promise<T> =>
  withDirectory(async (directory) => {
    await using store = closing(openSqlite(directory))
    return await use(store, directory)
  })

const add = (db: Database, name: string) =>
  db.insertInto('service_secrets').values({ name, value: '', created_at: '' }).execute()

const names = async (db: Database) =>
  (await db.selectFrom('service_secrets').select('name').orderBy('name').execute()).map(({ name }) => name)

/** Rolls back an operation. */
class Unwanted extends Error {}

describe('writes to SQLite', () => {
  it('share one commit in one turn of the event loop', () =>
    withStore(async (store) => {
      await add(store.db, 'first')
      const log = `${store.location}-wal`
      const before = statSync(log).size
      await Promise.all(Array.from({ length: 50 }, (_, index) => add(store.db, `${index}`)))
      expect(await names(store.db)).to.have.length(51)
      // Each commit appends every changed page, with 4 KiB and a header.
      expect(statSync(log).size - before).to.be.below(10 * 4120)
    }))

  it('are on disk before they are reported, and not visible to others until then', () =>
    withStore(async (store) => {
      const outside = new DatabaseSync(store.location, { readOnly: true })
      const count = outside.prepare('select count(*) as n from service_secrets')
      const written = store.db.transaction().execute(async (transaction) => {
        await add(transaction, 'one')
        expect(await names(transaction)).to.deep.equal(['one'])
        expect(await names(store.db)).to.deep.equal([])
      })
      await written
      expect(count.get()).to.deep.include({ n: 1 })
      expect(await names(store.db)).to.deep.equal(['one'])
      outside.close()
    }))

  it('are visible to the next read, even if an earlier one in the same microtasks shares its snapshot', () =>
    withStore(async ({ db }) => {
      const gate = Promise.withResolvers<void>()
      const written = db.transaction().execute(async (transaction) => {
        await add(transaction, 'one')
        // The commit waits for this operation.
        await gate.promise
        expect(await names(db)).to.deep.equal([])
      })
      await new Promise(setImmediate)
      await new Promise(setImmediate)
      gate.resolve()
      await written
      expect(await names(db)).to.deep.equal(['one'])
    }))

  it('of another connection are visible to the next turn of the event loop', () =>
    withStore(async ({ db, location }) => {
      expect(await names(db)).to.deep.equal([])
      const other = new DatabaseSync(location)
      other.exec("insert into service_secrets values ('one', '', '')")
      other.close()
      await new Promise(setImmediate)
      expect(await names(db)).to.deep.equal(['one'])
    }))

  it('let SQLite use the write-ahead log again, even if each commit has a reader in its microtasks', () =>
    withStore(async (store) => {
      store.connection.exec('pragma wal_autocheckpoint = 10')
      for (let index = 0; index < 100; index++) {
        const gate = Promise.withResolvers<void>()
        const written = store.db.transaction().execute(async (transaction) => {
          await add(transaction, `${index}`)
          // The commit waits for this operation.
          await gate.promise
          await names(store.db)
        })
        await new Promise(setImmediate)
        await new Promise(setImmediate)
        gate.resolve()
        await written
      }
      expect(statSync(`${store.location}-wal`).size).to.be.below(30 * 4120)
    }))

  it('have the results of a simple model, whatever fails and whenever they begin', () =>
    assert(
      asyncProperty(
        array(record({ name: integer({ min: 0, max: 9 }), fails: boolean(), later: boolean() }), {
          maxLength: 30,
        }),
        (operations) =>
          withStore(async ({ db }) => {
            const model = new Set<string>()
            const outcomes: Promise<unknown>[] = []
            for (const { name, fails, later } of operations) {
              if (later) await new Promise(setImmediate)
              const expected = fails || model.has(`${name}`) ? 'rejected' : 'fulfilled'
              if (!fails) model.add(`${name}`)
              const operation = db.transaction().execute(async (transaction) => {
                await add(transaction, `${name}`)
                if (fails) throw new Unwanted()
              })
              outcomes.push(
                operation.then(
                  () => expect(expected).to.equal('fulfilled'),
                  () => expect(expected).to.equal('rejected'),
                ),
              )
            }
            await Promise.all(outcomes)
            expect(await names(db)).to.deep.equal([...model].sort())
          }),
      ),
      { numRuns: 0.6 * (readConfigureGlobal().numRuns ?? 100) },
    ))

  it('all fail if the disk fills up during their commit, and succeed when there is space', () =>
    withStore(async (store) => {
      const { page_count: pages } = store.connection.prepare('pragma page_count').get() as {
        page_count: number
      }
      store.connection.exec(`pragma max_page_count = ${pages}`)
      const large = (name: string) =>
        store.db
          .insertInto('service_secrets')
          .values({ name, value: 'x'.repeat(1_000_000), created_at: '' })
          .execute()
      const outcomes = await Promise.allSettled([large('one'), add(store.db, 'two'), large('three')])
      const stored = outcomes.flatMap(({ status }, index) =>
        status === 'fulfilled' ? [['one', 'two', 'three'][index]] : [],
      )
      expect(stored).not.to.include('one')
      expect(await names(store.db)).to.deep.equal(stored)
      store.connection.exec('pragma max_page_count = 1000000')
      await large('four')
      expect(await names(store.db)).to.include('four')
    }))

  it('that wait are stored completely if a full disk rolls back those before them', () =>
    withStore(async ({ db, connection }) => {
      const { page_count: pages } = connection.prepare('pragma page_count').get() as { page_count: number }
      connection.exec(`pragma max_page_count = ${pages + 5}`)
      const pair = (name: string) =>
        db.transaction().execute(async (transaction) => {
          await add(transaction, `${name}.1`)
          await add(transaction, `${name}.2`)
        })
      const large = () =>
        db
          .insertInto('service_secrets')
          .values({ name: 'large', value: 'x'.repeat(1_000_000), created_at: '' })
          .execute()
      for (let before = 0; before <= 4; before++) {
        const asked = ['a', 'b', 'c', 'd'].slice(0, before).map((name) => `${before}${name}`)
        const waiting = ['e', 'f', 'g', 'h'].map((name) => `${before}${name}`)
        const all = [...asked.map(pair), large(), ...waiting.map(pair)]
        const outcomes = (await Promise.allSettled(all)).map((each) =>
          each.status === 'rejected' ? String(each.reason) : 'stored',
        )
        // Those before it were in its transaction, and SQLite rolled back all of it.
        const full = 'Error: database or disk is full'
        const expected = [...asked, 'large'].map(() => full).concat(waiting.map(() => 'stored'))
        expect(outcomes).to.deep.equal(expected)
        const stored = (await names(db)).filter((name) => name.startsWith(`${before}`))
        expect(stored).to.deep.equal(waiting.flatMap((name) => [`${name}.1`, `${name}.2`]))
      }
    }))

  it('wait for another process without blocking the thread or the readers', function () {
    this.timeout(60_000)
    return withStore(async (store) => {
      await add(store.db, 'before')
      const holder = spawn(
        process.execPath,
        [
          '--no-warnings',
          '-e',
          `const { DatabaseSync } = require('node:sqlite')
           const database = new DatabaseSync(process.argv[1])
           database.exec('begin immediate')
           console.log('held')
           process.stdin.on('data', () => {}).on('end', () => database.exec('commit'))`,
          store.location,
        ],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      )
      const ended = once(holder, 'close')
      await once(holder.stdout, 'data')
      const written = add(store.db, 'after').then(() => 'written')
      // A blocked thread would serve no reader, and the lock would never be released.
      for (let readings = 0; readings < 20; readings++)
        expect(await names(store.db)).to.deep.equal(['before'])
      holder.stdin.end()
      expect(await written).to.equal('written')
      expect(await names(store.db)).to.deep.equal(['after', 'before'])
      await ended
    })
  })

  it('wait at most 30 s for another process, also after others that waited as long', () =>
    withStore(async ({ location }) => {
      const holder = new DatabaseSync(location)
      holder.exec('begin immediate')
      const writer = new DatabaseSync(location)
      const clock = new SkippingClock()
      const commits = new GroupCommit(writer, () => writer.exec('commit'), clock)
      for (const outcome of await Promise.allSettled([commits.begin(), commits.begin(), commits.begin()]))
        expect(outcome).to.have.nested.property('reason.message', 'database is locked')
      expect(clock.monotonic()).to.be.within(30_000, 30_100)
      holder.close()
      await commits.begin()
      await commits.commit()
      writer.close()
    }))

  it('that have begun are completed before the data is closed', () =>
    withDirectory(async (directory) => {
      const store = openSqlite(directory)
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const writing = store.db.transaction().execute(async (transaction) => {
        await add(transaction, 'one')
        begin()
        await add(transaction, 'two')
      })
      await begun
      await store.close()
      await writing
      await using again = closing(openSqlite(directory))
      expect(await names(again.db)).to.deep.equal(['one', 'two'])
    }))
})
