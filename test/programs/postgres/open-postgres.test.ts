import { createServer } from 'node:net'
import { expect } from 'chai'
import { sql } from 'kysely'
import { Failure } from '../../../src/contract/failure.ts'
import { migrations } from '../../../src/service/store/migrations.ts'
import { openExistingPostgres, openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { writeAtOnce } from '../../service/store/write-at-once.ts'
import { withDirectory, withPlace } from '../../service/temporary-service.ts'
import { sharedPostgres, type TemporaryPostgres } from '../../support/postgres.ts'
import { describeSample } from '../../support/take-sample.ts'

const next = {
  number: migrations.length + 1,
  name: 'next',
  statements: () => 'create table extra (id bigint primary key);',
}

const withDatabase = (use: (url: string) => Promise<void>) =>
  withPlace('postgres', ({ database = '' }) => use(database))

async function failureOf(opening: Promise<unknown>): Promise<Failure> {
  const error = await opening.then(
    () => undefined,
    (thrown) => thrown,
  )
  expect(error).to.be.instanceOf(Failure)
  return error as Failure
}

describeSample('the PostgreSQL store of the embedded service', 5, () => {
  let postgres: TemporaryPostgres
  before(async () => {
    postgres = await sharedPostgres()
  })

  it('is created once, and names itself without the password', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      expect(store).to.include({ engine: 'postgres', created: true })
      expect(store.location).to.equal(`postgres://127.0.0.1:${postgres.port}${new URL(url).pathname}`)
      await store.db.updateTable('users').set({ name: 'Kept' }).execute()
      await store.close()
      const again = await openPostgres(url)
      expect(again.created).to.equal(false)
      expect((await again.db.selectFrom('users').select('name').execute())[0]?.name).to.equal('Kept')
      await again.close()
    }))

  it('keeps its connections when a reload reads its URL again', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      const process = () => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store.db)
      const { rows } = await process()
      store.prepareReload?.(url)()
      expect((await process()).rows).to.deep.equal(rows)
      await store.close()
    }))

  it('can be reached by a Unix socket', () =>
    withDatabase(async (url) => {
      const { username, password, pathname } = new URL(url)
      const directory = encodeURIComponent(postgres.socketDirectory)
      const store = await openPostgres(
        `postgres://${username}:${password}@${pathname}?host=${directory}&port=${postgres.port}`,
      )
      expect(store.location).to.equal(`postgres://${directory}:${postgres.port}${pathname}`)
      await store.close()
    }))

  it('has the same tables and columns as SQLite', () =>
    withDatabase((url) =>
      withDirectory(async (directory) => {
        const sqlite = openSqlite(directory)
        const store = await openPostgres(url)
        const ours = sqlite.connection
          .prepare(
            `select m.name as table_name, c.name as column_name, c.type, c."notnull" or c.pk > 0 as needed
             from sqlite_schema m, pragma_table_info(m.name) c
             where m.type = 'table' and m.name not like 'sqlite_%' order by 1, 2`,
          )
          .all()
          .map(
            (row) =>
              `${row['table_name']}.${row['column_name']} ${row['type'] === 'INTEGER' ? 'bigint' : 'text'} ${row['needed']}`,
          )
        const theirs = await postgres.query(
          `select table_name || '.' || column_name || ' ' || data_type || ' ' ||
             case is_nullable when 'NO' then 1 else 0 end as line
           from information_schema.columns where table_schema = 'public'`,
          url,
        )
        expect(theirs.map(({ line }) => line)).to.have.members(ours)
        await store.close()
        await sqlite.close()
      }),
    ))

  it('accepts only JSON in a JSON column, and everything that JSON.stringify writes', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      const write = (metadata: string) => store.db.updateTable('users').set({ metadata }).execute()
      for (const wrong of ['', '{', 'x', "{'a':1}"]) {
        expect(await write(wrong).catch((error) => error.code), wrong).to.equal('22P02')
      }
      for (const value of ['a\0b', '\ud800', { 'ü\n': [1e300, null, true] }]) {
        await write(JSON.stringify(value))
        const [row] = await store.db.selectFrom('users').select('metadata').execute()
        expect(row?.metadata).to.equal(JSON.stringify(value))
      }
      await store.close()
    }))

  it('returns counts and sums as numbers, and finds nothing for a text that it cannot store', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      const { count, sum } = await store.db
        .selectFrom('settings')
        .select(({ fn }) => [fn.countAll().as('count'), fn.sum('id').as('sum')])
        .executeTakeFirstOrThrow()
      expect([count, sum]).to.deep.equal([1, 1])
      expect(await store.db.selectFrom('users').where('id', '=', 'a\0b').selectAll().execute()).to.deep.equal(
        [],
      )
      await store.close()
    }))

  it('is migrated with its data while another process has it open', () =>
    withDatabase(async (url) => {
      const old = await openPostgres(url)
      await old.db
        .insertInto('users')
        .values({
          id: 'usr_1',
          email: 'a@example.com',
          email_key: 'a@example.com',
          name: 'Kept',
          password_hash: null,
          metadata: '{}',
          role: 'member',
          permissions: '[]',
          created_at: 'x',
          updated_at: 'x',
        })
        .execute()
      const store = await openPostgres(url, { wanted: [...migrations, next], migration: 'unused' })
      expect(store.created).to.equal(false)
      const names = await store.db.selectFrom('users').select('name').orderBy('name').execute()
      expect(names.map(({ name }) => name)).to.deep.equal(['Administrator', 'Kept'])
      await Promise.all([old.close(), store.close()])
    }))

  it('keeps nothing of a failed migration', () =>
    withDatabase(async (url) => {
      const broken = { ...next, statements: () => `${next.statements()} create table invalid (` }
      const failure = await failureOf(openPostgres(url, { wanted: [...migrations, broken] }))
      expect(failure.kind).to.equal('storage')
      const store = await openPostgres(url, { wanted: [...migrations, next] })
      await store.close()
    }))

  it('rejects the data of a newer version', () =>
    withDatabase(async (url) => {
      const newer = await openPostgres(url, { wanted: [...migrations, next] })
      await newer.close()
      const failure = await failureOf(openPostgres(url))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include(newer.location).and.include('newer')
    }))

  it('rejects the database of another program, also with a table named migrations, and changes nothing', () =>
    withDatabase(async (url) => {
      const tables = () =>
        postgres.query("select table_name from information_schema.tables where table_schema = 'public'", url)
      for (const table of ['theirs (id int)', 'migrations (id int, name text, batch int)']) {
        await postgres.query(`create table ${table}`, url)
        const failure = await failureOf(openPostgres(url))
        expect(failure.kind).to.equal('storage')
        expect(failure.message).to.include('another program')
        expect(await tables()).to.have.length(1)
        await postgres.query(`drop table ${table.split(' ')[0]}`, url)
      }
    }))

  it('uses the schema in the search path, next to other tables', () =>
    withDatabase(async (url) => {
      await postgres.query('create table theirs (id int); create schema apart', url)
      const store = await openPostgres(`${url}?options=${encodeURIComponent('-c search_path=apart')}`)
      await store.close()
      const rows = await postgres.query("select count(*) from pg_tables where schemaname = 'apart'", url)
      expect(Number(rows[0]?.['count'])).to.be.above(10)
    }))

  it('is not created by a read', () =>
    withDatabase(async (url) => {
      expect(await openExistingPostgres(url)).to.equal(undefined)
      expect(await postgres.query("select * from pg_tables where schemaname = 'public'", url)).to.deep.equal(
        [],
      )
      await (await openPostgres(url)).close()
      const store = await openExistingPostgres(url)
      expect(store?.created).to.equal(false)
      await store?.close()
    }))

  it('reports why it cannot be opened, without the password', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port: silentPort } = silent.address() as import('node:net').AddressInfo
    const { password, port, url } = postgres
    await postgres.query("drop role if exists guest; create role guest login password 'canary-guest'")
    const database = await postgres.createDatabase()
    const name = new URL(database).pathname.slice(1)
    await postgres.query('revoke create on schema public from public', database)
    const latin = `latin_${name}`
    await postgres.query(`create database ${latin} encoding 'LATIN1' locale 'C' template template0`)
    for (const [wrong, kind, words] of [
      [url.replace(String(port), '9'), 'unreachable', 'ECONNREFUSED'],
      [url.replace('127.0.0.1', 'no-such-host.invalid'), 'unreachable', 'no-such-host.invalid'],
      [url.replace(String(port), String(silentPort)), 'unreachable', 'time'],
      [url.replace(password, 'canary-wrong'), 'storage', 'rejected the sign-in'],
      [url.replace(`:${password}`, ''), 'storage', 'a password is required'],
      [url.replace('/postgres', '/nope').replace(/postgres$/, 'nope'), 'storage', 'No '],
      [
        database.replace(`chatctl:${password}`, 'guest:canary-guest'),
        'storage',
        'denied access to this user',
      ],
      [`${url}?sslmode=require`, 'tls', 'SSL'],
      [url.replace(/\w+$/, latin), 'storage', 'LATIN1'],
      [`postgres://chatctl:canary#pw@127.0.0.1/x`, 'config', 'Invalid database URL'],
      [`postgres://chatctl:canary@127.0.0.1:port/x`, 'config', 'Invalid database URL'],
      [`${url}?sslrootcert=/nowhere/ca.pem`, 'config', '/nowhere/ca.pem'],
    ] as const) {
      const failure = await failureOf(openPostgres(wrong))
      const told = `${failure.message} ${failure.hint} ${failure.stack} ${(failure.cause as Error)?.stack}`
      expect([failure.kind, failure.message]).to.satisfy(
        ([ofKind, message]: string[]) => ofKind === kind && message?.includes(words),
        `${words}: ${failure.kind} ${failure.message}`,
      )
      expect(told).not.to.include(password).and.not.to.include('canary')
    }
    await postgres.query(`drop database ${latin}`)
    await postgres.dropDatabase(database)
    silent.close()
  })

  it('is created once by processes that start at the same time, and stores all their writes', () =>
    withPlace('postgres', async (place) => {
      const results = await writeAtOnce(place, 4, 20)
      expect(results.filter((created) => created)).to.have.length(1)
      const store = await openPostgres(place.database ?? '')
      const users = await store.db.selectFrom('users').select('id').execute()
      expect(users).to.have.length(4 * 20 + 1)
      await store.close()
    }))
})
