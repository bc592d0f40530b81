import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { equip, withDirectory } from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'

function keepErrors() {
  const lines: string[] = []
  return { lines, log: { level: 'error', stderr: { write: (line: string) => void lines.push(line) } } }
}

describeSample('a PostgreSQL database that refuses a running service', 1, () => {
  const postgres = perSuite(startPostgres)

  async function createOwned(role: string) {
    const url = await postgres.createDatabase()
    const name = new URL(url).pathname.slice(1)
    await postgres.query(`create role ${role} login password 'first'`)
    await postgres.query(`alter database ${name} owner to ${role}`)
    await postgres.query(`alter schema public owner to ${role}`, url)
    const as = (password: string) => url.replace(/\/\/[^@]*@/, `//${role}:${password}@`)
    const end = () =>
      postgres.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'chatctl'",
      )
    return { url, name, as, end }
  }

  for (const [title, code, sql] of [
    ['the password has changed', '28P01', "alter role refused_ROUND password 'other'"],
    ['the role may not sign in', '28000', 'alter role refused_ROUND nologin'],
    ['the database has another name', '3D000', 'alter database NAME rename to moved_ROUND'],
    ['a right is missing', '42501', 'alter table users owner to chatctl'],
  ] as const) {
    it(`is a 503 with the cause in the log if ${title}`, () =>
      withDirectory(async (dataDir) => {
        const owned = await createOwned(`refused_${code.toLowerCase()}`)
        const { log, lines } = keepErrors()
        const service = equip(await startService({ dataDir, database: owned.as('first'), log }))
        const send = () => service.call('PATCH', '/v1/users/usr_admin', { name: 'New' })
        expect((await send()).status).to.equal(200)
        const refuse = sql.replace('ROUND', code.toLowerCase()).replace('NAME', owned.name)
        // A database in use cannot be renamed.
        await until(async () => {
          await owned.end()
          return postgres.query(refuse, sql.includes('table') ? owned.url : undefined).then(
            () => true,
            () => false,
          )
        })
        await owned.end()
        await until(async () => (await send()).status !== 200)
        const refused = await send()
        expect([refused.status, refused.body.error.code]).to.deep.equal([503, 'storage_unavailable'])
        expect(refused.headers.get('retry-after')).to.equal('1')
        expect(refused.body.error.message).to.include('the log of the service has the cause')
        expect(lines.join('')).to.include(`"code":"${code}"`).and.not.include('internal_error')
        await service.close()
      }))
  }

  it('is used again with the new password in CHATCTL_DATABASE_FILE after SIGHUP', async () => {
    const { name, as, end } = await createOwned('rotated')
    using sandbox = createSandbox()
    const file = join(sandbox.home, 'database-url')
    const write = (url: string) => {
      writeFileSync(file, `${url}\n`)
      chmodSync(file, 0o600)
    }
    write(as('first'))
    const words = ['service', 'run', '--port', '0', '--admin-port', 'off', '--json', '--log-level', 'info']
    const running = startChatctl(sandbox, words, { env: { CHATCTL_DATABASE_FILE: file }, timeout: 60_000 })
    running.stdin.end()
    await until(() => running.written().stdout.includes('"url"'))
    const { url } = JSON.parse(running.written().stdout.split('\n')[0] ?? '')
    const ready = async () => (await fetch(`${url}/readyz`)).status
    const reload = async (message: string) => {
      running.interrupt('SIGHUP')
      await until(() => running.written().stderr.includes(message))
    }
    expect(await ready()).to.equal(200)
    await postgres.query("alter role rotated password 'second'")
    await end()
    await until(async () => (await ready()) === 503)
    write(as('second').replace(name, 'elsewhere'))
    await reload('is another database than')
    write(as('second'))
    await reload('"reloaded"')
    await until(async () => (await ready()) === 200)
    expect(running.written().stderr).not.to.include('first').and.not.include('second')
    running.interrupt('SIGTERM')
    expect(await running.ended).to.include({ exitCode: 0 })
  })
})

describe('a service whose PostgreSQL database is read-only for a while', () => {
  const postgres = perSuite(startPostgres)

  for (const [cause, makeReadOnly, makeWritable] of [
    // A managed database whose disk is full: sessions keep the value that they began with.
    [
      'the database',
      (name: string) => `alter database ${name} set default_transaction_read_only = on`,
      (name: string) => `alter database ${name} reset default_transaction_read_only`,
    ],
    // Applies to the sessions that exist.
    [
      'the server',
      () => 'alter system set default_transaction_read_only = on',
      () => 'alter system reset default_transaction_read_only',
    ],
  ] as const) {
    it(`is not ready, and accepts every request once ${cause} is writable again`, () =>
      withDirectory(async (dataDir) => {
        const database = await postgres.createDatabase()
        const name = new URL(database).pathname.slice(1)
        const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
        const change = async (statement: string) => {
          // The server can still be changed in a session that is not read-only.
          await postgres.query(statement, `${postgres.url}?options=-c%20default_transaction_read_only=off`)
          await postgres.query('select pg_reload_conf()')
        }
        const { log, lines } = keepErrors()
        const service = equip(await startService({ dataDir, database, log }))
        const send = (app_name: string) => service.call('PATCH', '/v1/settings', { app_name })
        const ready = async () => {
          for (;;) {
            const { status, body } = await service.call('GET', '/readyz')
            if (status === 200) return
            expect(body.error.code).to.equal('storage_unavailable')
          }
        }
        await ready()
        await change(makeReadOnly(name))
        await postgres.query(end)
        while ((await service.call('GET', '/readyz')).status === 200);
        for (let round = 0; round < 3; round++) {
          const refused = await Promise.all(Array.from({ length: 12 }, (_, index) => send(`${index}`)))
          for (const { status, body } of refused) {
            expect(status).to.equal(503)
            expect(body.error.code).to.equal('storage_unavailable')
          }
        }
        expect(lines.join('')).to.include('"code":"25006"')
        await change(makeWritable(name))
        await ready()
        const accepted = await Promise.all(Array.from({ length: 30 }, (_, index) => send(`a${index}`)))
        expect(accepted.map(({ status }) => status)).to.deep.equal(Array(30).fill(200))
        await service.close()
      }))
  }
})
