import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { equip, withDirectory } from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { startPostgres } from '../../support/postgres.ts'

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
        const lines: string[] = []
        const log = { level: 'error', stderr: { write: (line: string) => void lines.push(line) } }
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
