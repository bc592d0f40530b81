import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { startPostgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/run-program.ts'
import { runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a command on a machine where a service uses PostgreSQL', () => {
  const sandbox = perTest(createSandbox)

  it('names the database of the service for service admin create --data, and creates no SQLite file', async () => {
    const postgres = await startPostgres()
    const data = join(sandbox.home, 'data')
    const database = await postgres.createDatabase()
    const service = await runService(sandbox, ['--data', data, '--database', database])
    try {
      const refused = await runProgram(
        sandbox,
        ['service', 'admin', 'create', 'ada@example.com', '--password-stdin', '--data', data],
        { stdin: 'correct horse battery\n' },
      )
      expect(refused.exitCode, refused.stderr).to.equal(2)
      expect(refused.stderr).to.contain(service.url).and.to.contain('--database postgres://127.0.0.1:')
      expect(existsSync(join(data, 'chatctl.db'))).to.equal(false)
      const status = await runProgram(sandbox, ['service', 'status', '--data', data])
      expect(status.stderr).to.contain('--database postgres://127.0.0.1:')
      const created = await runProgram(
        sandbox,
        [
          'service',
          'admin',
          'create',
          'ada@example.com',
          '--password-stdin',
          '--data',
          data,
          '--database',
          database,
        ],
        { stdin: 'correct horse battery\n' },
      )
      expect(created.exitCode, created.stderr).to.equal(0)
    } finally {
      await service.stop()
      await postgres.close()
    }
  })
})
