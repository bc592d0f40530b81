import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { migrations } from '../../../src/service/store/migrations.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { withSecondMigration } from '../../support/second-migration.ts'

const older = migrations.length
const newer = older + 1

describe('data of an older version', () => {
  const sandbox = perTest(createSandbox)
  const directory = () => join(sandbox.home, '.local/share/chatctl')
  const file = () => join(directory(), 'chatctl.db')
  const run = (line: string, stdin = '') => runChatctl(sandbox, line.split(' '), { stdin })
  const copies = () => readdirSync(directory()).filter((name) => name.startsWith('before-migration'))
  const schema = async () => {
    const store = openSqlite(directory())
    const [row] = await store.db
      .selectFrom('migrations')
      .select(({ fn }) => fn.max('number').as('n'))
      .execute()
    await store.close()
    return row?.n
  }

  beforeEach(async () => expect(await run('service keys create old')).to.include({ exitCode: 0 }))

  it('is refused by every command that reads or changes it, which name the command that migrates', () =>
    withSecondMigration(async () => {
      const before = readFileSync(file())
      for (const line of [
        'service status',
        'service audit',
        'service users list',
        'service users reset admin@localhost --keep-password',
        'service keys list',
        'service keys create new',
        'service keys create new --dry-run',
        'service keys update old --name new',
        'service keys rotate old --dry-run',
        'service keys revoke old --dry-run',
        'service sessions list',
        'service sessions revoke x',
        'service trust list',
        'service trust revoke x',
        'service trust create x --audience me --issuer https://ci.example --subject repo:acme/app:x --permission read:chat',
        'settings history --service -p local',
      ]) {
        const refused = await run(line)
        expectFailure(
          refused,
          1,
          `${file()} was created by an older chatctl (schema ${older}; this version requires ${newer})`,
        )
        expect(refused.stderr, line).to.contain('chatctl service migrate')
      }
      expect(readFileSync(file()).equals(before)).to.equal(true)
      expect(copies()).to.deep.equal([])
      // A backup comes before the migration.
      expect(await run(`service backup --to ${join(sandbox.home, 'backup.db')}`)).to.include({ exitCode: 0 })
    }))

  it('is migrated by service migrate, after a copy; --dry-run shows the time and the space', () =>
    withSecondMigration(async () => {
      const planned = JSON.parse((await run('service migrate --dry-run --json')).stdout)
      const { migrate } = planned.change ?? planned
      expect(migrate).to.include({ database: file(), from: older, to: newer, backup: null })
      expect(migrate.milliseconds).to.be.at.least(0)
      expect(migrate.bytes_after - migrate.bytes_before).to.equal(4096)
      expectFailure(await run('service status'), 1, 'older chatctl')
      const migrated = JSON.parse((await run('service migrate --json')).stdout)
      const backup = join(directory(), `before-migration-from-${older}.db`)
      expect(migrated).to.include({ from: older, to: newer, backup })
      expect(await schema()).to.equal(newer)
      expect((await run('service keys list --jq .[].name')).stdout).to.equal('old\n')
      const again = await run('service migrate --json')
      expect(JSON.parse(again.stdout)).to.include({ from: newer, to: newer, backup: null })
      expect(again.stderr).to.contain('already')
      // The copy can be restored, and is older data again.
      expect(await run(`service restore ${backup} --yes`)).to.include({ exitCode: 0 })
      expectFailure(await run('service status'), 1, 'older chatctl')
    }))

  it('is migrated by the profile local, with a notice of the copy', () =>
    withSecondMigration(async () => {
      const { exitCode, stderr } = await run('settings get app_name -p local')
      expect(exitCode, stderr).to.equal(0)
      expect(stderr).to.contain(join(directory(), `before-migration-from-${older}.db`))
      expect(await schema()).to.equal(newer)
    }))

  it('is not migrated while another process uses it, unless it is told to', async () => {
    const old = openSqlite(directory())
    await withSecondMigration(async () => {
      for (const line of ['service migrate', 'service migrate --dry-run', 'settings get app_name -p local'])
        expectFailure(await run(line), 7, `Other processes use ${file()}`, 'service migrate --force')
      expectFailure(await run('service run --port 0'), 7, 'Other processes use', 'service run --migrate')
      expect(copies()).to.deep.equal([])
      const service = await serveInProcess(sandbox, ['--migrate'])
      expect((await fetch(`${service.url}/readyz`)).status).to.equal(200)
      await service.stop()
      expect(await schema()).to.equal(newer)
    })
    await old.close()
  })

  it('is migrated by service run, and by service migrate --force also while it is used', () =>
    withSecondMigration(async () => {
      const service = await serveInProcess(sandbox)
      await service.stop()
      expect(await schema()).to.equal(newer)
      expect(existsSync(join(directory(), `before-migration-from-${older}.db`))).to.equal(true)
      const held = openSqlite(directory())
      await withSecondMigration(async () => {
        expectFailure(await run('service migrate'), 7, 'Other processes use')
        expect(await run('service migrate --force')).to.include({ exitCode: 0 })
        expect(await schema()).to.equal(newer + 1)
      })
      await held.close()
    }))
})
