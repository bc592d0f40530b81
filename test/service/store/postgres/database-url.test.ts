import { expect } from 'chai'
import { Client } from 'pg'
import { readDatabaseUrl } from '../../../../src/service/store/postgres/database-url.ts'
import { freePort } from '../../../support/free-port.ts'
import { runChatctl } from '../../../support/run-chatctl.ts'
import { createSandbox } from '../../../support/sandbox.ts'

/** The client that pg creates from a URL and an environment. */
const clientOf = (url: string, env: NodeJS.ProcessEnv) => new Client(readDatabaseUrl(url, 1_000, env).config)

describe('the URL of a PostgreSQL database', () => {
  it('is completed from the given environment', () => {
    const env = { PGHOST: 'db.example', PGPORT: '6432', PGUSER: 'ada', PGPASSWORD: 'p', PGDATABASE: 'chat' }
    const about = { host: 'db.example', port: 6432, user: 'ada', password: 'p', database: 'chat' }
    expect(clientOf('postgres:///', env)).to.include({ ...about, ssl: false })
    expect(clientOf('postgres:///', { ...env, PGSSLMODE: 'require' })).to.include({ ...about, ssl: true })
    expect(readDatabaseUrl('postgres:///', 0, env).location).to.equal('postgres://db.example:6432/chat')
  })

  it('takes precedence over the environment', () => {
    const env = {
      PGHOST: 'x',
      PGPORT: '1',
      PGUSER: 'x',
      PGPASSWORD: 'x',
      PGDATABASE: 'x',
      PGSSLMODE: 'require',
    }
    const client = clientOf('postgres://ada:p%40@db.example:6432/chat?sslmode=disable', env)
    const about = { host: 'db.example', port: 6432, user: 'ada', password: 'p@', database: 'chat' }
    expect(client).to.include({ ...about, ssl: false })
  })

  it('is completed with the defaults of libpq if neither sets a value', () => {
    const about = { host: 'localhost', port: 5432, user: 'ada', database: 'ada', ssl: false }
    expect(clientOf('postgres:///', { USER: 'ada' })).to.include(about)
    expect(clientOf('postgres:///', { USER: 'ada' }).password).to.be.a('function')
  })

  it('names a different database in each run of one process, by its environment', async () => {
    using sandbox = createSandbox()
    const ports = [await freePort(), await freePort()]
    const ends = await Promise.all(
      ports.map((port) =>
        runChatctl(sandbox, ['service', 'status', '--database', 'postgres:///chat'], {
          env: { PGHOST: '127.0.0.1', PGPORT: String(port) },
        }),
      ),
    )
    for (const [index, { exitCode, stderr }] of ends.entries()) {
      expect(exitCode).to.equal(69)
      expect(stderr).to.include(`postgres://127.0.0.1:${ports[index]}/chat`)
    }
  })
})
