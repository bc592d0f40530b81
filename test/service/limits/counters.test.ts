import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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
      for (const name of readdirSync(directory)) {
        expect(statSync(join(directory, name)).mode & 0o777, name).to.equal(0o600)
      }
      await first.close()
      expect(readdirSync(directory)).to.deep.equal(['limits.db'])
      const second = new SqliteCounters(directory, noWarning)
      expect(await second.count([ask({ wanted: 3 })])).to.deep.equal([
        { granted: 2, hour: 100, hourCount: 5, minute: 6_000, minuteCount: 5 },
      ])
      await second.close()
    }))

  for (const [name, damage] of [
    [
      'text',
      () => Buffer.from('this is not a database, and is long enough to be looked at as one.'.repeat(100)),
    ],
    [
      'a header followed by noise',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(9000, 0x5a)]),
    ],
  ] as const) {
    it(`continues in a new file if the old one is ${name}, warns once, and keeps the old one`, () =>
      withDirectory(async (directory) => {
        const before = new SqliteCounters(directory, noWarning)
        await before.count([ask(), ask({ keyId: 'other' })])
        await before.close()
        const file = join(directory, 'limits.db')
        const damaged = damage(readFileSync(file))
        writeFileSync(file, damaged)
        const warnings: string[] = []
        const warn = (message: string) => warnings.push(message)
        const after = [new SqliteCounters(directory, warn), new SqliteCounters(directory, warn)]
        const granted: (number | undefined)[] = []
        for (const index of [0, 1, 0, 1]) {
          granted.push((await after[index]?.count([ask({ wanted: 2 })]))?.[0]?.granted)
        }
        expect(granted).to.deep.equal([2, 2, 1, 0])
        expect(warnings).to.have.length(1)
        expect(warnings[0]).to.include(file).and.include('damaged')
        for (const one of after) await one.close()
        expect(readdirSync(directory)).to.include.members(['limits.db', 'limits-2.db'])
        expect(readFileSync(file).equals(damaged)).to.equal(true)
        const again = new SqliteCounters(directory, noWarning)
        expect((await again.count([ask()]))[0]).to.include({ granted: 0, hourCount: 5 })
        await again.close()
      }))
  }

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
