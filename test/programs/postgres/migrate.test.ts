import { once } from 'node:events'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { equip, withPlace } from '../../service/temporary-service.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { withSecondMigration } from '../../support/second-migration.ts'
import { until } from '../../support/until.ts'

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
