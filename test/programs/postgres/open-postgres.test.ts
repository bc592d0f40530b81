import { createServer } from 'node:net'
import { expect } from 'chai'
import { sql } from 'kysely'
import { Failure } from '../../../src/contract/failure.ts'
import { migrations } from '../../../src/service/store/migrations/migrations.ts'
import { openExistingPostgres, openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { isBusy } from '../../../src/service/store/storage-failure.ts'
import { writeAtOnce } from '../../service/store/write-at-once.ts'
import { withDirectory, withPlace } from '../../service/temporary-service.ts'
import { sharedPostgres, type TemporaryPostgres } from '../../support/postgres.ts'

const next = {
  number: migrations.length + 1,
  name: 'next',
  statements: '\ncreate table extra (\n  id integer primary key\n) strict;\n',
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

describe('the PostgreSQL store of the embedded service', () => {
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

  it('has the same migrations as SQLite, with the same checksums', () =>
    withDatabase((url) =>
      withDirectory(async (directory) => {
        const sqlite = openSqlite(directory)
        const store = await openPostgres(url)
        const ledger = 'select number, name, checksum from migrations order by number'
        const rows = sqlite.connection.prepare(ledger).all()
        expect(await postgres.query(ledger, url)).to.deep.equal(
          rows.map((row) => ({ ...row, number: String(row['number']) })),
        )
        await store.close()
        await sqlite.close()
      }),
    ))

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
      const old = await openPostgres(url, { wanted: migrations.slice(0, 1) })
      const read = () => old.db.selectFrom('api_keys').selectAll().where('id', '=', 'key_1').execute()
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
      expect(await read()).to.deep.equal([])
      const store = await openPostgres(url, { wanted: [...migrations, next] })
      expect(store.created).to.equal(false)
      const names = await store.db.selectFrom('users').select('name').orderBy('name').execute()
      expect(names.map(({ name }) => name)).to.deep.equal(['Administrator', 'Kept'])
      // The statement was prepared for a table with fewer columns.
      expect(await read()).to.deep.equal([])
      await old.db
        .transaction()
        .execute((transaction) =>
          transaction.selectFrom('api_keys').selectAll().where('id', '=', 'key_1').execute(),
        )
      await Promise.all([old.close(), store.close()])
    }))

  it('retries a transaction after a deadlock, and fails only after several attempts', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      let attempts = 0
      const together = Promise.withResolvers<void>()
      const lock = (first: 'settings' | 'api_configuration', second: 'settings' | 'api_configuration') =>
        store.db.transaction().execute(async (transaction) => {
          await transaction.selectFrom(first).select('id').forUpdate().execute()
          attempts += 1
          if (attempts === 2) together.resolve()
          await together.promise
          await transaction.selectFrom(second).select('id').forUpdate().execute()
          return attempts
        })
      await Promise.all([lock('settings', 'api_configuration'), lock('api_configuration', 'settings')])
      // More than three if the next attempt locks its first row before the other transaction wakes up.
      expect(attempts).to.be.at.least(3)
      let tries = 0
      const error = await store.db
        .transaction()
        .execute(async (transaction) => {
          tries += 1
          await sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`.execute(transaction)
        })
        .catch((thrown) => thrown)
      expect([tries, isBusy(error)]).to.deep.equal([4, true])
      await store.close()
    }))

  it('does not report a failed transaction as stored', () =>
    withDatabase(async (url) => {
      const store = await openPostgres(url)
      const swallowed = store.db.transaction().execute(async (transaction) => {
        await transaction.updateTable('users').set({ name: 'Lost' }).execute()
        await sql`select 1 / 0`.execute(transaction).catch(() => {})
      })
      expect((await swallowed.catch((error) => error)).message).to.include('nothing was stored')
      const [row] = await store.db.selectFrom('users').select('name').execute()
      expect(row?.name).to.equal('Administrator')
      await store.close()
    }))

  it('keeps nothing of a failed migration', () =>
    withDatabase(async (url) => {
      const broken = { ...next, statements: `${next.statements} create table invalid (` }
      const failure = await failureOf(openPostgres(url, { wanted: [...migrations, broken] }))
      expect(failure.kind).to.equal('storage')
      const store = await openPostgres(url, { wanted: [...migrations, next] })
      await store.close()
    }))

  it('rejects the data of a newer version, and unknown migrations', () =>
    withDatabase(async (url) => {
      const newer = await openPostgres(url, { wanted: [...migrations, next] })
      await newer.close()
      const failure = await failureOf(openPostgres(url))
      expect(failure.kind).to.equal('storage')
      expect(failure.message).to.include(newer.location).and.include('newer')
      const changed = { ...next, statements: `${next.statements} -- changed` }
      const other = await failureOf(openPostgres(url, { wanted: [...migrations, changed] }))
      expect(other.message).to.include(`migration ${next.number} (next)`)
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
