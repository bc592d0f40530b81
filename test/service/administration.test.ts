import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { Failure } from '../../src/failure.ts'
import { type Administration, openAdministration } from '../../src/service/administration.ts'
import { runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { caller, withFolder, withService } from './temporary-service.ts'

async function withAdministration<T>(folder: string, use: (administration: Administration) => Promise<T>) {
  const administration = await openAdministration(folder)
  try {
    return await use(administration)
  } finally {
    await administration.close()
  }
}

describe('administration of the embedded service', () => {
  it('makes keys that work at once on a running service, and revokes them at once', () =>
    withService(({ url, dataDir }) =>
      withAdministration(dataDir, async (administration) => {
        const { key, id, ...rest } = await administration.createKey({ name: 'ci', tier: 'pro' })
        expect(key).to.match(/^ck_[A-Za-z0-9_-]{43}$/)
        expect(rest).to.include({ name: 'ci', tier: 'pro', limit: 1000 })
        const call = caller(url, key)
        const profile = await call('GET', '/api/user/profile')
        expect(profile.body.id).to.equal('usr_admin')
        const [listed] = await administration.listKeys()
        expect(listed).to.include({ id, prefix: key.slice(0, 9), revoked_at: null })
        expect(listed?.last_used_at).to.be.a('string')
        const revoked = await administration.revokeKey(id)
        expect(revoked.revoked_at).to.be.a('string')
        expect((await call('GET', '/api/user/profile')).status).to.equal(401)
        expect(await administration.revokeKey(id)).to.deep.equal(revoked)
      }),
    ))

  it('keeps no key anywhere, only its digest', () =>
    withFolder(async (folder) => {
      const { key } = await withAdministration(folder, (one) => one.createKey({ name: 'ci', tier: 'free' }))
      for (const file of readdirSync(folder)) {
        expect(readFileSync(join(folder, file), 'latin1')).not.to.include(key.slice(0, 20))
      }
      const listed = await withAdministration(folder, (one) => one.listKeys())
      expect(JSON.stringify(listed)).not.to.include(key.slice(9))
    }))

  it('gives each tier its limit, and only enterprise one of its own', () =>
    withFolder((folder) =>
      withAdministration(folder, async (administration) => {
        const limitOf = async (tier: 'free' | 'pro' | 'enterprise', limit?: number) =>
          (await administration.createKey({ name: 'x', tier, limit })).limit
        expect(await limitOf('free')).to.equal(100)
        expect(await limitOf('pro')).to.equal(1000)
        expect(await limitOf('enterprise')).to.equal(null)
        expect(await limitOf('enterprise', 5000)).to.equal(5000)
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

  it('says that a key to revoke does not exist', () =>
    withFolder(async (folder) => {
      const revoke = () =>
        withAdministration(folder, (one) => one.revokeKey('key_nope')).catch((error) => error)
      expect(await revoke()).to.include({ kind: 'not_found' })
      await withAdministration(folder, (one) => one.createKey({ name: 'x', tier: 'free' }))
      expect(await revoke()).to.include({ kind: 'not_found' })
    }))

  it('looks at a folder without making anything in it', () =>
    withFolder(async (folder) => {
      const data = join(folder, 'none')
      await withAdministration(data, async (administration) => {
        expect(await administration.listKeys()).to.deep.equal([])
        expect(await administration.status()).to.deep.equal({
          data,
          schema_version: 0,
          users: 0,
          contexts: 0,
          messages: 0,
          keys: 0,
          database: null,
          running: null,
        })
      })
      expect(existsSync(data)).to.equal(false)
    }))

  it('counts what is there and finds the service that announced itself', () =>
    withService(
      async ({ call, url, adminUrl, dataDir, close }) => {
        await call('POST', '/api/chat/send', { message: 'hello' })
        await withAdministration(dataDir, async (administration) => {
          await administration.createKey({ name: 'x', tier: 'free' })
          const { running, ...rest } = await administration.status()
          expect(rest).to.deep.equal({
            data: dataDir,
            schema_version: 2,
            users: 1,
            contexts: 1,
            messages: 2,
            keys: 1,
            database: join(dataDir, 'chatctl.db'),
          })
          const { started_at, uptime, ...where } = running ?? {}
          expect(where).to.deep.equal({
            url,
            pid: process.pid,
            health: 'ready',
            admin_url: adminUrl,
            version: '1.2.3',
          })
          expect(Date.parse(started_at ?? '')).to.be.closeTo(Date.now(), 10_000)
          expect(uptime).to.be.within(0, 10)
          await close()
          expect((await administration.status()).running).to.equal(null)
        })
        expect(readdirSync(dataDir).filter((name) => name.startsWith('running'))).to.deep.equal([])
      },
      { announce: true, admin: { port: 0 }, version: '1.2.3' },
    ))

  it('finds the one that is left of two on the same data', async () => {
    const sandbox = createSandbox()
    const start = () =>
      startChatctl(sandbox, ['service', 'run', '--port', '0', '--json', '--log-level', 'silent'])
    const ready = async (child: ChildProcess) =>
      JSON.parse(String((await once(child.stdout as Readable, 'data'))[0])).pid as number
    const first = start()
    const second = start()
    try {
      const [pid] = await Promise.all([ready(first), ready(second)])
      second.kill('SIGTERM')
      await once(second, 'exit')
      const { stdout } = await runChatctl(sandbox, ['service', 'status', '--jq', '.running.pid'])
      expect(stdout.trim()).to.equal(String(pid))
    } finally {
      first.kill('SIGTERM')
      await once(first, 'exit')
      sandbox.remove()
    }
  })

  it('does not find a service that did not announce itself, or one that died', () =>
    withService(async ({ url, dataDir }) => {
      const running = () => withAdministration(dataDir, async (one) => (await one.status()).running)
      expect(await running()).to.equal(null)
      const record = join(dataDir, 'running-1.json')
      for (const stale of [
        { url, pid: 2 ** 30 },
        { url: 'http://127.0.0.1:9', pid: process.pid },
        { url: 'x', pid: process.pid },
        'x',
      ]) {
        writeFileSync(record, JSON.stringify(stale))
        expect(await running(), JSON.stringify(stale)).to.equal(null)
      }
      writeFileSync(record, '{')
      expect(await running()).to.equal(null)
    }))
})
