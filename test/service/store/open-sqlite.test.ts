import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { updateSettings } from '../../../src/service/domain/settings.ts'
import { migrations } from '../../../src/service/store/migrations.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { loadSqlite } from '../../../src/system/sqlite.ts'
import { closing } from '../../support/lifetime.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import { withDirectory } from '../temporary-service.ts'
import { writeAtOnce } from './write-at-once.ts'

const next = {
  number: migrations.length + 1,
  name: 'next',
  statements: () => 'create table extra (id integer primary key) strict;',
}

const { DatabaseSync } = loadSqlite()

describe('the store of the embedded service', () => {
  it('is private, and so are the directories above it', () =>
    withDirectory(async (directory) => {
      const data = join(directory, 'a', 'b')
      const store = openSqlite(data)
      expect(store.created).to.equal(true)
      await store.db.updateTable('users').set({ name: 'Written' }).execute()
      expect(statSync(data).mode & 0o777).to.equal(0o700)
      for (const suffix of ['', '-wal', '-shm'])
        expect(statSync(join(data, `chatctl.db${suffix}`)).mode & 0o777).to.equal(0o600)
      await store.close()
      await using again = closing(openSqlite(data))
      expect(again.created).to.equal(false)
    }))

  it('shows a commit of its process immediately, even in the turn of the event loop that read the state before it', () =>
    withDirectory(async (directory) => {
      await using store = closing(openSqlite(directory))
      let before = Number.NaN
      // Runs before the commit, in the same phase of the event loop.
      setImmediate(() => {
        before = store.generation()
      })
      await store.db.updateTable('users').set({ name: 'Written' }).execute()
      expect(store.generation()).to.be.greaterThan(before)
    }))

  it('is migrated forward, and keeps its data', () =>
    withDirectory(async (directory) => {
      const old = openSqlite(directory)
      await old.db.updateTable('users').set({ name: 'Kept' }).execute()
      await old.close()
      await using store = closing(openSqlite(directory, [...migrations, next], 'unused'))
      expect(store.created).to.equal(false)
      expect((await store.db.selectFrom('users').select('name').execute())[0]?.name).to.equal('Kept')
      expect(store.connection.prepare('select count(*) as n from extra').get()).to.deep.include({ n: 0 })
      const applied = store.connection.prepare('select number, name from migrations').all()
      expect(applied).to.have.length(migrations.length + 1)
    }))

  it('keeps nothing of a failed migration', () =>
    withDirectory(async (directory) => {
      const broken = { ...next, statements: () => `${next.statements()} create table invalid (` }
      expect(() => openSqlite(directory, [...migrations, broken])).to.throw()
      await openSqlite(directory, [...migrations, next]).close()
    }))

  it('rejects data of a newer program and leaves it unchanged', () =>
    withDirectory(async (directory) => {
      const newer = openSqlite(directory, [...migrations, next])
      await newer.close()
      const before = readFileSync(newer.location)
      const failure = thrownFailure(() => openSqlite(directory))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include(newer.location).and.include('newer')
      expect(readFileSync(newer.location).equals(before)).to.equal(true)
    }))

  it('rejects a damaged file and keeps it', () =>
    withDirectory((directory) => {
      const file = join(directory, 'chatctl.db')
      const content = Buffer.from('this is not a database, however long it may go on. '.repeat(100))
      writeFileSync(file, content)
      const failure = thrownFailure(() => openSqlite(directory))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include(file).and.include('damaged')
      expect(hintOf(failure)).to.include('backup')
      expect(readFileSync(file).equals(content)).to.equal(true)
    }))

  it("rejects another program's database and keeps it", () =>
    withDirectory((directory) => {
      const file = join(directory, 'chatctl.db')
      const foreign = new DatabaseSync(file)
      foreign.exec('create table users (id integer)')
      foreign.close()
      const content = readFileSync(file)
      const failure = thrownFailure(() => openSqlite(directory))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include('another program')
      expect(readFileSync(file).equals(content)).to.equal(true)
    }))

  it('names the directory that cannot be used', () =>
    withDirectory((directory) => {
      const file = join(directory, 'file')
      writeFileSync(file, '')
      for (const data of [file, join(file, 'inside')]) {
        const failure = thrownFailure(() => openSqlite(data))
        expect(failure.kind).to.equal('storage')
        expect(failure.message).to.include(data)
        expect(hintOf(failure)).to.be.a('string')
      }
      mkdirSync(join(directory, 'taken', 'chatctl.db'), { recursive: true })
      expect(thrownFailure(() => openSqlite(join(directory, 'taken'))).kind).to.equal('storage')
    }))

  it('reports that a directory is not writable', function () {
    if (process.getuid?.() === 0) this.skip()
    return withDirectory((directory) => {
      const data = join(directory, 'locked')
      mkdirSync(data, { mode: 0o500 })
      const failure = thrownFailure(() => openSqlite(data))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include(data).and.include('EACCES')
    })
  })

  it('is created once by two processes that start together, and stores all their writes', function () {
    this.timeout(60_000)
    return withDirectory(async (directory) => {
      const results = await writeAtOnce({ dataDir: directory }, 2, 20)
      expect(results.filter((created) => created)).to.have.length(1)
      await using store = closing(openSqlite(directory))
      const { n } = store.connection.prepare('select count(*) as n from users').get() as { n: number }
      expect(n).to.equal(2 * 20 + 1)
      const { journal_mode: mode } = store.connection.prepare('pragma journal_mode').get() as {
        journal_mode: string
      }
      expect(mode).to.equal('wal')
    })
  })

  it('lets two connections of one process take turns', () =>
    withDirectory(async (directory) => {
      const stores = [openSqlite(directory), openSqlite(directory)]
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          stores.map(({ db }) =>
            updateSettings(db, { app_name: `${index}` }, localAuditContext(systemClock)),
          ),
        ).flat(),
      )
      await Promise.all(stores.map(({ close }) => close()))
    }))

  it('is locked against a restore by another process, also after this one has opened it again', () =>
    withDirectory(async (directory) => {
      await using store = closing(openSqlite(directory))
      await openSqlite(directory).close()
      const script = `const { DatabaseSync } = require('node:sqlite')
        const database = new DatabaseSync(process.argv[1])
        database.exec('pragma locking_mode = exclusive; begin exclusive')`
      const { stderr } = spawnSync(process.execPath, ['-e', script, store.location], { encoding: 'utf8' })
      expect(stderr).to.include('database is locked')
    }))
})
