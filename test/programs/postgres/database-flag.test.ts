import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { caller, equip, withDirectory, withPlace } from '../../service/temporary-service.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { sharedPostgres, startPostgres } from '../../support/postgres.ts'
import { type RunOptions, runChatctl, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { withSecondMigration } from '../../support/second-migration.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'

function contentsOf(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

describeSample('service --database', 1, () => {
  const postgres = perSuite(startPostgres)
  const sandbox = perTest(createSandbox)

  const run = (line: string, options?: RunOptions) =>
    runProgram(sandbox, ['service', ...line.split(' '), '--debug'], options)

  it('shows the password in no output, error, log, or file', async () => {
    const database = await postgres.createDatabase()
    const env = { CHATCTL_DATABASE: database }
    const told: string[] = []
    const tell = async (line: string, options?: RunOptions) => {
      const { stdout, stderr, exitCode } = await run(line, options)
      told.push(stdout, stderr)
      return { stdout, exitCode }
    }
    const made = await tell(`keys create --name x --jq .key --database ${database}`)
    const service = startBuilt(
      sandbox,
      ['service', 'run', '--port', '0', '--json', '--log-level', 'trace', '--debug'],
      { env },
    )
    const ended = once(service, 'exit')
    service.stderr?.on('data', (chunk) => told.push(String(chunk)))
    const [ready] = await once(service.stdout as Readable, 'data')
    const call = caller(JSON.parse(String(ready)).url, made.stdout.trim())
    expect((await call('POST', '/api/chat/send', { message: 'hello' })).status).to.equal(200)
    const status = await tell('status --json', { env })
    expect(JSON.parse(status.stdout)).to.include({
      database: `postgres://127.0.0.1:${postgres.port}${new URL(database).pathname}`,
      messages: 2,
    })
    await tell('keys list --json', { env })
    await postgres.stop('immediate')
    const lost = await call('PATCH', '/v1/settings', { app_name: 'x' })
    expect(lost.status).to.equal(503)
    told.push(lost.text)
    expect((await tell('status', { env })).exitCode).to.equal(69)
    await postgres.start()
    for (const wrong of [
      `${database}nope`,
      database.replace('@127.0.0.1', '@[127.0.0.1'),
      database.replace('postgres://', 'mysql://'),
      `${database}?sslmode=verify-full`,
      `${database}?sslrootcert=/nowhere`,
      database.replace('chatctl:', 'nobody:'),
    ]) {
      const byEnvironment = await tell('keys list', { env: { CHATCTL_DATABASE: wrong } })
      expect(byEnvironment.exitCode, wrong).to.be.above(0)
      expect((await tell(`run --port 0 --database ${wrong}`)).exitCode, wrong).to.be.above(0)
    }
    told.push(contentsOf(sandbox.home))
    service.kill('SIGTERM')
    await ended
    told.push(contentsOf(sandbox.home))
    expect(told.join('\n')).to.include('127.0.0.1')
    expect(told.join('\n')).not.to.include(postgres.password)
  }).timeout(60_000)

  it('applies to keys create, list, and revoke, and to status', async () => {
    const at = `--database ${await postgres.createDatabase()}`
    const tell = async (line: string) => (await run(line)).stdout.trim()
    expect(await tell(`keys list ${at} --jq length`)).to.equal('0')
    const id = await tell(`keys create --name x ${at} --jq .id`)
    expect(await tell(`keys list ${at} --jq .[].id`)).to.equal(id)
    expect(await tell(`status ${at} --jq .keys`)).to.equal('1')
    expect((await run(`keys revoke ${id} --yes ${at}`)).exitCode).to.equal(0)
    expect(await tell(`status ${at} --jq .keys`)).to.equal('0')
    expect(await tell('keys list --jq length')).to.equal('0')
  })

  it('may omit the password if PGPASSWORD has it', async () => {
    const database = await postgres.createDatabase()
    const bare = database.replace(`:${postgres.password}`, '')
    const refused = await run(`keys create --name x --database ${bare}`)
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.include('a password is required').and.include('PGPASSWORD')
    const env = { PGPASSWORD: postgres.password }
    expect((await run(`keys create --name x --database ${bare}`, { env })).exitCode).to.equal(0)
  })
})

describe('the password file of libpq', () => {
  it('gives access to a server unless others may read the file', async () => {
    const { url, password } = await sharedPostgres()
    await withDirectory(async (directory) => {
      const file = join(directory, 'pgpass')
      const bare = url.replace(`:${password}@`, '@')
      writeFileSync(file, `*:*:*:chatctl:${password}\n`, { mode: 0o600 })
      process.env['PGPASSFILE'] = file
      const database = await (await sharedPostgres()).createDatabase()
      const store = await openPostgres(bare.replace(/\/postgres$/, new URL(database).pathname))
      await store.close()
      chmodSync(file, 0o644)
      const refused = await openPostgres(bare).catch((error) => error)
      expect(refused.message).to.include('a password is required')
      delete process.env['PGPASSFILE']
      await (await sharedPostgres()).dropDatabase(database)
    })
  })
})

describe('a command on a machine where a service uses PostgreSQL', () => {
  const sandbox = perTest(createSandbox)

  it('names the database of the service for service admin create --data, and creates no SQLite file', async () => {
    const postgres = await startPostgres()
    const data = join(sandbox.home, 'data')
    const database = await postgres.createDatabase()
    const service = await runService(sandbox, ['--data', data, '--database', database])
    try {
      const create = (flags: string) =>
        runProgram(
          sandbox,
          `service admin create ada@example.com --password-stdin --data ${data}${flags}`.split(' '),
          { stdin: 'correct horse battery\n' },
        )
      const refused = await create('')
      expect(refused.exitCode, refused.stderr).to.equal(2)
      expect(refused.stderr).to.contain(service.url).and.to.contain('--database postgres://127.0.0.1:')
      expect(existsSync(join(data, 'chatctl.db'))).to.equal(false)
      const status = await runProgram(sandbox, ['service', 'status', '--data', data])
      expect(status.stderr).to.contain('--database postgres://127.0.0.1:')
      const created = await create(` --database ${database}`)
      expect(created.exitCode, created.stderr).to.equal(0)
    } finally {
      await service.stop()
      await postgres.close()
    }
  })
})

describe('a new version on data that a process of an older one uses', () => {
  const sandbox = perTest(createSandbox)

  for (const engine of ['sqlite', 'postgres'] as const) {
    it(`starts once that process is killed, or if it is told to, on ${engine}`, () =>
      withPlace(engine, async (place) => {
        const flags = ['--data', place.dataDir, ...(place.database ? ['--database', place.database] : [])]
        const old = await runService(sandbox, flags)
        await withSecondMigration(async () => {
          const refused = async () => {
            const error = await startService(place).catch((thrown) => thrown)
            return error instanceof Error ? error.message : error.close()
          }
          expect(await refused()).to.contain('Other processes use')
          const status = await runChatctl(sandbox, ['service', 'status', ...flags])
          expect(status.stderr).to.contain('older chatctl').and.to.contain('chatctl service migrate')
          const rehearsed = await runChatctl(sandbox, ['service', 'migrate', '--dry-run', ...flags])
          expect(rehearsed).to.include({ exitCode: 7 })
          expect((await fetch(`${old.url}/readyz`)).status).to.equal(200)
          const ended = once(old.child, 'exit')
          old.child.kill('SIGKILL')
          await ended
          const words = ['service', 'migrate', '--dry-run', '--json', ...flags]
          await until(async () => (await runChatctl(sandbox, words)).exitCode === 0)
          const service = equip(await startService(place))
          expect((await service.call('GET', '/readyz')).status).to.equal(200)
          await withSecondMigration(async () => {
            expect(await refused()).to.contain('Other processes use')
            const newer = equip(await startService({ ...place, migratesAlways: true }))
            expect((await newer.call('GET', '/readyz')).status).to.equal(200)
            await newer.close()
          })
          await service.close()
        })
      })).timeout(60_000)
  }
})
