import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Failure } from '../../../src/contract/failure.ts'
import {
  type Administration,
  openAdministration,
} from '../../../src/service/administration/administration.ts'
import { type DataLocation, openStore } from '../../../src/service/store/open-store.ts'
import { type Clock, systemClock } from '../../../src/system/clock.ts'
import { loadSqlite } from '../../../src/system/sqlite.ts'
import { closing } from '../../support/lifetime.ts'
import { sharedPostgres } from '../../support/postgres.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { caller, onEachEngine, withPlace, withService } from '../temporary-service.ts'

async function withAdministration<T>(
  place: DataLocation,
  use: (administration: Administration) => Promise<T>,
  clock: Clock = systemClock,
) {
  await using administration = closing(await openAdministration(place, clock))
  return await use(administration)
}

/** Where the status says that the database is, without the password. */
function locationOf({ dataDir, database }: DataLocation): string {
  if (database === undefined) return join(dataDir, 'chatctl.db')
  const { host, pathname } = new URL(database)
  return `postgres://${host}${pathname}`
}

onEachEngine('administration of the embedded service', (withService, engine) => {
  it('creates keys that work immediately on a running service, and revokes them', () =>
    withService(({ url, place }) =>
      withAdministration(place, async (administration) => {
        const { key, id, ...rest } = await administration.createKey({ name: 'ci', tier: 'pro' })
        expect(key).to.match(/^ck_[A-Za-z0-9_-]{43}$/)
        expect(rest).to.include({ name: 'ci', tier: 'pro', limit: 1000 })
        const call = caller(url, key)
        expect((await call('GET', '/api/user/profile')).body.id).to.equal('usr_admin')
        const [listed] = await administration.listKeys()
        expect(listed).to.include({ id, prefix: key.slice(0, 9), revoked_at: null })
        // Written after the response.
        await until(async () => typeof (await administration.listKeys())[0]?.last_used_at === 'string')
        const revoked = await administration.revokeKey(id)
        expect(revoked.revoked_at).to.be.a('string')
        // PostgreSQL notifies the process of the service a moment later.
        await until(async () => (await call('GET', '/api/user/profile')).status === 401)
        expect(await administration.revokeKey(id)).to.deep.equal(revoked)
      }),
    ))

  it('stores only the digest of a key', () =>
    withPlace(engine, async (place) => {
      const { key } = await withAdministration(place, (one) => one.createKey({ name: 'ci', tier: 'free' }))
      for (const file of readdirSync(place.dataDir))
        expect(readFileSync(join(place.dataDir, file), 'latin1')).not.to.include(key.slice(0, 20))
      const store = await openStore(place)
      expect(JSON.stringify(await store.db.selectFrom('api_keys').selectAll().execute())).not.to.include(key)
      await store.close()
      const listed = await withAdministration(place, (one) => one.listKeys())
      expect(JSON.stringify(listed)).not.to.include(key.slice(9))
    }))

  it('gives each tier its limit, and accepts another limit for enterprise only', () =>
    withPlace(engine, (place) =>
      withAdministration(place, async (administration) => {
        const resolveHourlyLimit = async (tier: 'free' | 'pro' | 'enterprise', limit?: number) =>
          (await administration.createKey({ name: 'x', tier, limit })).limit
        expect(await resolveHourlyLimit('free')).to.equal(100)
        expect(await resolveHourlyLimit('pro')).to.equal(1000)
        expect(await resolveHourlyLimit('enterprise')).to.equal(null)
        expect(await resolveHourlyLimit('enterprise', 5000)).to.equal(5000)
        for (const [tier, limit] of [
          ['free', 5],
          ['enterprise', 0],
          ['enterprise', 1.5],
        ] as const) {
          const failure = await administration.createKey({ name: 'x', tier, limit }).catch((error) => error)
          expect(failure).to.be.instanceOf(Failure).and.include({ kind: 'usage' })
        }
        const nameless = await administration.createKey({ name: ' ', tier: 'free' }).catch((error) => error)
        expect(nameless).to.include({ kind: 'usage' })
        expect(await administration.listKeys()).to.have.length(4)
      }),
    ))

  it('reports that the key to revoke does not exist', () =>
    withPlace(engine, async (place) => {
      const revoke = () =>
        withAdministration(place, (one) => one.revokeKey('key_nope')).catch((error) => error)
      expect(await revoke()).to.include({ kind: 'not_found' })
      await withAdministration(place, (one) => one.createKey({ name: 'x', tier: 'free' }))
      expect(await revoke()).to.include({ kind: 'not_found' })
    }))

  it('creates the data also if no temporary directory can be used', () =>
    withPlace(engine, async (place) => {
      const env = { TMPDIR: join(place.dataDir, 'missing'), TEMP: join(place.dataDir, 'missing') }
      await withAdministration({ ...place, env }, async (one) => {
        await one.createKey({ name: 'x', tier: 'free' })
        expect(await one.status()).to.include({ users: 1, keys: 1 })
      })
    }))

  it('lists keys and shows the status without creating the data directory', () =>
    withPlace(engine, async ({ dataDir, database }) => {
      const data = join(dataDir, 'none')
      await withAdministration({ dataDir: data, database }, async (administration) => {
        expect(await administration.listKeys()).to.deep.equal([])
        expect(await administration.status()).to.deep.equal({
          data,
          database: locationOf({ dataDir: data, database }),
          schema_version: 0,
          users: 0,
          conversations: 0,
          messages: 0,
          keys: 0,
          running: null,
          also_running: [],
        })
      })
      expect(existsSync(data)).to.equal(false)
      if (database !== undefined)
        expect(
          await (await sharedPostgres()).query(
            "select * from pg_tables where schemaname = 'public'",
            database,
          ),
        ).to.deep.equal([])
    }))

  it('counts the stored data, and finds the service that announced itself', () => {
    const clock = new SteppedClock()
    return withService(
      async ({ call, url, adminUrl, dataDir, place, close }) => {
        await call('POST', '/api/chat/send', { message: 'hello' })
        await withAdministration(
          place,
          async (administration) => {
            await administration.createKey({ name: 'x', tier: 'free' })
            const { running, ...rest } = await administration.status()
            expect(rest).to.deep.equal({
              data: dataDir,
              database: locationOf(place),
              schema_version: 2,
              users: 1,
              conversations: 1,
              messages: 2,
              keys: 1,
              also_running: [],
            })
            const { started_at, uptime_seconds, ...where } = running ?? {}
            expect(where).to.deep.equal({
              url,
              pid: process.pid,
              health: 'ready',
              admin_url: adminUrl,
              version: '1.2.3',
            })
            expect([started_at, uptime_seconds]).to.deep.equal(['2026-03-01T12:00:00.000Z', 0])
            clock.pass(90_500)
            expect((await administration.status()).running?.uptime_seconds).to.equal(90)
            await close()
            expect((await administration.status()).running).to.equal(null)
          },
          clock,
        )
        expect(readdirSync(dataDir).filter((name) => name.startsWith('running'))).to.deep.equal([])
      },
      { announce: {}, admin: { port: 0 }, version: '1.2.3', clock },
    )
  })

  it('finds the remaining one of two services on the same data', () =>
    withService(
      async ({ url, dataDir, place }) => {
        using sandbox = createSandbox()
        if (place.database !== undefined) sandbox.env['CHATCTL_DATABASE'] = place.database
        await using other = await startScriptedServer()
        const record = { url: other.url, pid: process.ppid, place: locationOf(place) }
        writeFileSync(join(dataDir, `running-${record.pid}.json`), JSON.stringify(record))
        const both = await withAdministration(place, (one) => one.status())
        expect([both.running?.url, ...both.also_running]).to.have.members([url, other.url])
        await other.close()
        const { stdout } = await runChatctl(sandbox, ['service', 'status', '--data', dataDir, '--json'])
        const { running, also_running } = JSON.parse(stdout)
        expect(running).to.include({ url, pid: process.pid })
        expect(also_running).to.deep.equal([])
      },
      { announce: {} },
    ))

  if (engine === 'sqlite')
    it('shows the status while another program writes', () =>
      withPlace(engine, async (place) => {
        await (await openStore(place)).close()
        const { DatabaseSync } = loadSqlite()
        const other = new DatabaseSync(join(place.dataDir, 'chatctl.db'))
        other.exec('begin immediate')
        try {
          expect(await withAdministration(place, (one) => one.status())).to.include({ users: 1 })
        } finally {
          other.close()
        }
      }))

  it('ignores a service that did not announce itself, and one that died', () =>
    withService(async ({ url, dataDir, place }) => {
      const running = () => withAdministration(place, async (one) => (await one.status()).running)
      expect(await running()).to.equal(null)
      const record = join(dataDir, 'running-1.json')
      for (const stale of [
        { url, pid: 2 ** 30, place: locationOf(place) },
        { url: 'http://127.0.0.1:9', pid: process.pid, place: locationOf(place) },
        { url: 'x', pid: process.pid, place: locationOf(place) },
        { url, pid: process.pid, place: 'elsewhere' },
        'x',
      ]) {
        writeFileSync(record, JSON.stringify(stale))
        expect(await running(), JSON.stringify(stale)).to.equal(null)
      }
      writeFileSync(record, JSON.stringify({ url, pid: process.pid, place: locationOf(place) }))
      expect(await running()).to.include({ url, pid: process.pid })
      writeFileSync(record, '{')
      expect(await running()).to.equal(null)
    }))
})

describe('a data directory that is named by a symbolic link', () => {
  it('is recognized as in use, and is not replaced by restore', () =>
    withService(
      async ({ call, dataDir, url }) => {
        await call('PATCH', '/v1/settings', { app_name: 'Before' })
        const [other, backup] = [`${dataDir}-link`, `${dataDir}-backup.db`]
        symlinkSync(dataDir, other)
        try {
          await withAdministration({ dataDir: other }, async (administration) => {
            expect((await administration.status()).running).to.include({ url })
            await administration.backUp(backup)
            await call('PATCH', '/v1/settings', { app_name: 'After' })
            const error = await administration.restore(backup).catch((reason) => reason)
            expect(error).to.be.instanceOf(Failure).and.to.include({ kind: 'conflict' })
            expect((await call('GET', '/v1/settings')).body.app_name).to.equal('After')
          })
        } finally {
          rmSync(other, { force: true })
          rmSync(backup, { force: true })
        }
      },
      { announce: {} },
    ))
})

describe('service run without a reader of stdout', () => {
  it('removes its announcement when it ends', async () => {
    using sandbox = createSandbox()
    const running = startChatctl(sandbox, ['service', 'run', '--port', '0', '--log-level', 'silent'])
    running.stdout.destroy()
    await running.ended
    const files = readdirSync(join(sandbox.home, '.local/share/chatctl'))
    expect(files).to.include('chatctl.db')
    expect(files.filter((name) => name.startsWith('running'))).to.deep.equal([])
  })
})
