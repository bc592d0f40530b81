import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { systemClock } from '../../../src/system/clock.ts'

/** Writes changes to the ledger at a path until it is killed, 8 at a time, and prints the path of each that is on disk. */
const [path = '', name = ''] = process.argv.slice(2)

for (let round = 0; ; round++) {
  const run = new LedgerRun(new Ledger(path), { command: 'x', service: 'local' }, systemClock)
  for (let batch = 0; batch < 5; batch++) {
    const ends = Array.from({ length: 8 }, async (_, index) => {
      const change = `/${name}/${round}/${batch}/${index}`
      const end = await run.begin({ method: 'POST', path: change, endpoint: undefined, user: undefined })
      process.stdout.write(`${change}\n`)
      end({ outcome: index === 0 ? 'unknown' : 'done' })
    })
    await Promise.all(ends)
  }
  run.close()
}
