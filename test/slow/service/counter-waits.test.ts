import { join } from 'node:path'
import { expect } from 'chai'
import { SqliteCounters } from '../../../src/service/store/sqlite/sqlite-counters.ts'
import { loadSqlite } from '../../../src/system/sqlite.ts'
import { ask, noWarning } from '../../service/limits/counting-model.ts'
import { withDirectory } from '../../service/temporary-service.ts'

describe('counting requests in a file that other processes use', () => {
  it('waits for another writer without blocking the thread', () =>
    withDirectory(async (directory) => {
      const counters = new SqliteCounters(directory, noWarning)
      await counters.count([ask()])
      const { DatabaseSync } = loadSqlite()
      const other = new DatabaseSync(join(directory, 'limits.db'))
      other.exec('begin immediate')
      let longest = 0
      let last = performance.now()
      const beat = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 5)
      setTimeout(() => other.exec('commit'), 400)
      const startedAt = performance.now()
      expect((await counters.count([ask()]))[0]).to.include({ granted: 1, hourCount: 2 })
      clearInterval(beat)
      expect(performance.now() - startedAt).to.be.above(350)
      expect(longest).to.be.below(200)
      other.close()
      await counters.close()
    }))

  it('continues in memory while the file cannot be used, and then in the file again', function () {
    this.timeout(20_000)
    return withDirectory(async (directory) => {
      const warnings: string[] = []
      const counters = new SqliteCounters(directory, (message) => warnings.push(message))
      const { DatabaseSync } = loadSqlite()
      await counters.count([ask()])
      const other = new DatabaseSync(join(directory, 'limits.db'))
      other.exec('begin immediate')
      for (const granted of [3, 2, 0]) {
        expect((await counters.count([ask({ wanted: 3 })]))[0]).to.include({ granted })
      }
      expect(warnings).to.have.length(1)
      other.exec('commit')
      other.close()
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      expect((await counters.count([ask({ wanted: 5 })]))[0]).to.include({ granted: 4, hourCount: 5 })
      expect(warnings).to.have.length(1)
      await counters.close()
    })
  })
})
