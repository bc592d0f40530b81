import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { loadSqlite } from '../../../src/system/sqlite.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { closing } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { equip, type TemporaryService, withDirectory, withService } from '../temporary-service.ts'

/** Writes a backup of new data. */
async function makeBackup(directory: string): Promise<string> {
  const file = join(directory, 'backup.db')
  const other = join(directory, 'other')
  await openSqlite(other).close()
  const administration = await openAdministration({ dataDir: other })
  await administration.backUp(file)
  await administration.close()
  return file
}

/** What a key of the admin can read. */
const paths = ['/v1/settings', '/v1/settings/preferences', '/api/user/profile', '/api/chat/history']

async function readAll(call: TemporaryService['call'], more: readonly string[] = []) {
  const answers: Record<string, unknown> = {}
  for (const path of [...paths, ...more]) answers[path] = (await call('GET', path)).body
  return answers
}

describe('a backup of the embedded service', () => {
  it('restores the same data, and keeps the data that it replaces', () =>
    withDirectory(async (directory) => {
      using sandbox = createSandbox()
      const data = join(directory, 'data')
      const file = join(directory, 'backup.db')
      const service = equip(await startService({ dataDir: data }))
      const { body: user } = await service.call('POST', '/v1/users', {
        email: 'ann@example.com',
        password: 'correct horse',
      })
      await service.call('POST', '/api/chat/send', { message: 'Remember this' })
      const before = await readAll(service.call, [`/v1/users/${user.id}`])
      const made = await runChatctl(sandbox, ['service', 'backup', '--to', file, '--data', data, '--json'])
      expect(made.exitCode, made.stderr).to.equal(0)
      expect(JSON.parse(made.stdout)).to.deep.include({ file, bytes: statSync(file).size })
      expect(statSync(file).mode & 0o777).to.equal(0o600)
      expect(readdirSync(directory).sort()).to.deep.equal(['backup.db', 'data'])
      await service.call('PATCH', '/v1/settings', { app_name: 'Changed since' })
      await service.call('POST', '/api/chat/send', { message: 'And forget this' })
      await service.close()

      const restored = await runChatctl(sandbox, [
        'service',
        'restore',
        file,
        '--data',
        data,
        '--yes',
        '--json',
      ])
      expect(restored.exitCode, restored.stderr).to.equal(0)
      const again = equip(await startService({ dataDir: data }))
      expect(await readAll(again.call, [`/v1/users/${user.id}`])).to.deep.equal(before)
      await again.close()

      const { kept } = JSON.parse(restored.stdout)
      const old = join(directory, 'old')
      mkdirSync(old)
      copyFileSync(kept, join(old, 'chatctl.db'))
      await using changed = closing(equip(await startService({ dataDir: old })))
      expect((await changed.call('GET', '/v1/settings')).body.app_name).to.equal('Changed since')
    }))

  it('is consistent while others write, and does not make them fail', () =>
    withService(async ({ call, dataDir }) => {
      let isDone = false
      let sent = 0
      const writing = Array.from({ length: 4 }, async () => {
        while (!isDone) {
          const { status } = await call('POST', '/api/chat/send', { message: `${sent++}` })
          expect(status).to.equal(200)
        }
      })
      const administration = await openAdministration({ dataDir })
      const files = ['a', 'b', 'c'].map((name) => join(dataDir, `${name}.db`))
      for (const file of files) await administration.backUp(file)
      isDone = true
      await Promise.all(writing)
      await administration.close()
      for (const [index, file] of files.entries()) {
        await using other = closing(await openAdministration({ dataDir: join(dataDir, `restored-${index}`) }))
        await other.restore(file)
        const { conversations, messages } = await other.status()
        expect(messages).to.equal(2 * conversations)
      }
    }))

  it('replaces no file, and leaves no partial file', () =>
    withService(async ({ dataDir }) => {
      using sandbox = createSandbox()
      const file = join(dataDir, 'precious')
      writeFileSync(file, 'precious')
      const run = await runChatctl(sandbox, ['service', 'backup', '--to', file, '--data', dataDir])
      expect(run.exitCode).to.equal(7)
      expect(readFileSync(file, 'utf8')).to.equal('precious')
      const missing = join(dataDir, 'none', 'backup.db')
      const failed = await runChatctl(sandbox, ['service', 'backup', '--to', missing, '--data', dataDir])
      expect(failed.exitCode).to.equal(1)
      expect(failed.stderr).to.include(missing).and.include('ENOENT')
      expect(readdirSync(dataDir).filter((name) => name.endsWith('.partial'))).to.deep.equal([])
    }))

  it('replaces a file with --force, but never the data itself', () =>
    withService(async ({ dataDir }) => {
      using sandbox = createSandbox()
      const backUp = (file: string, ...args: string[]) =>
        runChatctl(sandbox, ['service', 'backup', '--to', file, '--data', dataDir, ...args])
      const file = join(dataDir, 'nightly.db')
      writeFileSync(file, 'a damaged backup')
      expectFailure(await backUp(file), 7, `${file} already exists`, 'add --force to replace the file')
      const replaced = await backUp(file, '--force', '--jq', '.bytes')
      expect(Number(replaced.stdout), replaced.stderr).to.equal(statSync(file).size)
      const data = join(dataDir, 'chatctl.db')
      const before = statSync(data).ino
      symlinkSync(data, join(dataDir, 'link.db'))
      for (const path of [data, join(dataDir, 'link.db')])
        expectFailure(await backUp(path, '--force'), 2, `${path} is the data of the service`)
      expect(statSync(data).ino).to.equal(before)
    }))

  it('is not restored while a service runs that left no record here, as in another container', () =>
    withDirectory(async (directory) => {
      const data = join(directory, 'data')
      const file = join(directory, 'backup.db')
      const service = equip(await startService({ dataDir: data }))
      await service.call('PATCH', '/v1/settings', { app_name: 'Before' })
      await using administration = closing(await openAdministration({ dataDir: data }))
      await administration.backUp(file)
      await service.call('PATCH', '/v1/settings', { app_name: 'After' })
      const error = await administration.restore(file).catch((reason) => reason)
      expect(error).to.include({ kind: 'conflict' })
      expect(error.message).to.equal(`Another process has ${join(data, 'chatctl.db')} open`)
      expect((await service.call('GET', '/v1/settings')).body.app_name).to.equal('After')
      expect(readdirSync(data).filter((name) => /partial|before/.test(name))).to.deep.equal([])
      await service.close()
      await administration.restore(file)
      await using again = closing(equip(await startService({ dataDir: data })))
      expect((await again.call('GET', '/v1/settings')).body.app_name).to.equal('Before')
    }))

  it('is not restored while a service runs, nor from an invalid file', () =>
    withDirectory(async (directory) => {
      using sandbox = createSandbox()
      const data = join(directory, 'data')
      const service = await startService({ dataDir: data, announce: {} })
      const file = join(directory, 'backup.db')
      await runChatctl(sandbox, ['service', 'backup', '--to', file, '--data', data])
      const refused = await runChatctl(sandbox, ['service', 'restore', file, '--data', data, '--yes'])
      expect(refused.exitCode).to.equal(7)
      expect(refused.stderr).to.include('Stop it first')
      await service.close()

      const content = readFileSync(join(data, 'chatctl.db'))
      const inUse = join(directory, 'in-use.db')
      copyFileSync(file, inUse)
      writeFileSync(`${inUse}-wal`, '')
      const damaged = join(directory, 'damaged.db')
      writeFileSync(damaged, readFileSync(file).fill(7, 5_000, 30_000))
      const text = join(directory, 'text.db')
      writeFileSync(text, 'not a database')
      for (const [other, code] of [
        [damaged, 1],
        [text, 1],
        [inUse, 1],
        [join(directory, 'missing.db'), 2],
      ] as const) {
        const run = await runChatctl(sandbox, ['service', 'restore', other, '--data', data, '--yes'])
        expect(run.exitCode, run.stderr).to.equal(code)
        expect(run.stderr).to.include(other)
      }
      expect(readFileSync(join(data, 'chatctl.db')).equals(content)).to.equal(true)
    }))

  it('replaces data that is damaged or of a newer chatctl, and keeps that data', () =>
    withDirectory(async (directory) => {
      const file = await makeBackup(directory)
      const { DatabaseSync } = loadSqlite()
      const spoil = [
        (path: string) => writeFileSync(path, 'damaged '.repeat(1_000)),
        (path: string) => {
          const newer = new DatabaseSync(path)
          newer.exec("insert into migrations values (99, 'later', '2030-01-01T00:00:00Z')")
          newer.close()
        },
      ]
      for (const [index, change] of spoil.entries()) {
        const dataDir = join(directory, `data-${index}`)
        await using administration = closing(await openAdministration({ dataDir }))
        await administration.restore(file)
        const path = join(dataDir, 'chatctl.db')
        change(path)
        const content = readFileSync(path)
        const { kept, schema_version } = await administration.restore(file)
        expect(readFileSync(kept ?? '').equals(content)).to.equal(true)
        expect(schema_version).to.be.at.least(1)
      }
    }))

  it('does not replace data that cannot be opened, and names the file', () =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, 'data')
      const path = join(dataDir, 'chatctl.db')
      // For root, no file is unreadable.
      mkdirSync(path, { recursive: true })
      const administration = await openAdministration({ dataDir })
      const error = await administration.restore(await makeBackup(directory)).catch((reason) => reason)
      expect(error).to.include({ kind: 'storage', message: `Cannot open ${path} for writing` })
      expect(readdirSync(dataDir)).to.deep.equal(['chatctl.db'])
    }))

  it('of PostgreSQL is refused with the name of pg_dump', async () => {
    using sandbox = createSandbox()
    const file = join(sandbox.home, 'backup.db')
    const run = await runChatctl(sandbox, [
      'service',
      'backup',
      '--to',
      file,
      '--database',
      'postgres://localhost/chat',
    ])
    expect(run.exitCode).to.equal(2)
    expect(run.stderr).to.include('pg_dump')
    expect(existsSync(file)).to.equal(false)
  })
})
