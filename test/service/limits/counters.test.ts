import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { SqliteCounters } from '../../../src/service/store/sqlite/sqlite-counters.ts'
import { withDirectory } from '../temporary-service.ts'
import { agreesWithModel, ask, noWarning } from './counting-model.ts'

describe('counting requests in a file', () => {
  it('agrees with a simple model, on two connections in turn', () =>
    agreesWithModel(
      () =>
        new Promise((opened, failed) => {
          withDirectory(
            (directory) =>
              new Promise<void>((remove) => {
                const counters = [
                  new SqliteCounters(directory, noWarning),
                  new SqliteCounters(directory, noWarning),
                ]
                const close = async () => {
                  for (const one of counters) await one.close()
                  remove()
                }
                opened({ counters, close })
              }),
          ).catch(failed)
        }),
      150,
    ))

  it('creates the file on the first request, for its owner alone, and keeps the counts', () =>
    withDirectory(async (directory) => {
      const first = new SqliteCounters(directory, noWarning)
      expect(readdirSync(directory)).to.deep.equal([])
      await first.count([ask({ wanted: 3 })])
      for (const name of readdirSync(directory))
        expect(statSync(join(directory, name)).mode & 0o777, name).to.equal(0o600)
      await first.close()
      expect(readdirSync(directory)).to.deep.equal(['limits.db'])
      const second = new SqliteCounters(directory, noWarning)
      expect(await second.count([ask({ wanted: 3 })])).to.deep.equal([
        { granted: 2, hour: 100, hourCount: 5, minute: 6_000, minuteCount: 5 },
      ])
      await second.close()
    }))

  it('warns and counts in memory if the file is damaged', () =>
    withDirectory(async (directory) => {
      writeFileSync(join(directory, 'limits.db'), 'this is not a database. '.repeat(100))
      const warnings: string[] = []
      const counters = new SqliteCounters(directory, (message) => warnings.push(message))
      for (const granted of [3, 2, 0])
        expect((await counters.count([ask({ wanted: 3 })]))[0]).to.include({ granted })
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.include(join(directory, 'limits.db'))
      await counters.close()
    }))

  it('warns and counts in memory if the directory is not writable', function () {
    if (process.getuid?.() === 0) this.skip()
    return withDirectory(async (directory) => {
      chmodSync(directory, 0o500)
      const warnings: string[] = []
      const counters = new SqliteCounters(directory, (message) => warnings.push(message))
      expect((await counters.count([ask({ wanted: 9 })]))[0]).to.include({ granted: 5 })
      expect(warnings).to.have.length(1)
      chmodSync(directory, 0o700)
      await counters.close()
    })
  })
})
