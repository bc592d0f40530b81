import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { sql } from 'kysely'
import { startService } from '../../../src/service/start-service.ts'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { equip, withDirectory, withPlace } from '../../service/temporary-service.ts'
import { freePort } from '../../support/free-port.ts'
import { sharedPostgres, unprivileged } from '../../support/postgres.ts'

/** PgBouncer in front of the shared server, on loopback. `url` leads to the same database through it. */
async function withPooler(
  mode: 'session' | 'transaction' | 'statement',
  use: (url: string, dataDir: string) => Promise<void>,
): Promise<void> {
  const postgres = await sharedPostgres()
  const account = unprivileged()
  await withPlace('postgres', ({ dataDir, database = '' }) =>
    withDirectory(async (directory) => {
      const { username, password, pathname } = new URL(database)
      const port = await freePort()
      const [users, file] = [`${directory}/users.txt`, `${directory}/pgbouncer.ini`]
      writeFileSync(users, `"${username}" "${password}"\n`)
      writeFileSync(
        file,
        `[databases]
* = host=127.0.0.1 port=${postgres.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
`,
      )
      for (const path of [directory, users, file]) if (account.uid) chownSync(path, account.uid, -1)
      const pooler: ChildProcess = spawn('/usr/sbin/pgbouncer', [file], {
        ...account,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const lines = createInterface({ input: pooler.stderr as NodeJS.ReadableStream })
      for await (const line of lines) if (line.includes('process up')) break
      pooler.stderr?.resume()
      try {
        await use(`postgres://${username}@127.0.0.1:${port}${pathname}`, dataDir)
      } finally {
        pooler.kill('SIGKILL')
        await once(pooler, 'exit')
      }
    }),
  )
}

describe('a PostgreSQL database behind PgBouncer', () => {
  it('works in session mode, with the timeouts of a direct connection', () =>
    withPooler('session', async (database, dataDir) => {
      const store = await openPostgres(`${database}?statement_timeout=1234`)
      // One statement reads, the other one writes, so they use different connections.
      const show = (lock: string) =>
        sql<object>`select current_setting('statement_timeout') as s,
          current_setting('idle_in_transaction_session_timeout') as i from settings ${sql.raw(lock)}`
      for (const lock of ['', 'for update'])
        expect((await show(lock).execute(store.db)).rows).to.deep.equal([{ s: '1234ms', i: '10s' }])
      await store.close()
      const both = [
        equip(await startService({ dataDir, database })),
        equip(await startService({ dataDir, database })),
      ]
      const user = { email: 'ada@example.com', password: 'a password' }
      expect((await both[0]?.call('POST', '/v1/users', user))?.status).to.equal(201)
      expect((await both[1]?.call('POST', '/v1/users', user))?.status).to.equal(409)
      await Promise.all(both.map((service) => service.close()))
    }))

  for (const mode of ['transaction', 'statement'] as const) {
    it(`is refused if ${mode}s are pooled`, () =>
      withPooler(mode, async (database, dataDir) => {
        for (const start of [() => startService({ dataDir, database }), () => openPostgres(database)]) {
          const failure = await start().catch((error) => error)
          expect(failure, failure.message).to.include({ kind: 'config' })
          expect(failure.message).to.match(/^postgres:.* is behind a pooler that pools transactions/)
        }
      }))
  }
})
