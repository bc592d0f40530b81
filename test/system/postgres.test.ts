import { expect } from 'chai'
import { killTrial } from '../service/kill-trial.ts'
import { withFolder } from '../service/temporary-service.ts'
import { startPostgres } from '../support/postgres.ts'

describe('PostgreSQL on this machine', () => {
  // Other suites pass it over where it is missing; here it must be there.
  it('is there, and keeps what a killed service acknowledged', async () => {
    const postgres = await startPostgres()
    try {
      const database = await postgres.createDatabase()
      expect(await withFolder((dataDir) => killTrial({ dataDir, database }, 2))).to.be.at.least(2)
    } finally {
      await postgres.close()
    }
  })
})
