import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectExactlyOnce, expectSettled } from '../slow/bulk/expect-settled.ts'
import { ImportTrial } from '../slow/bulk/import-trial.ts'
import { mountSmallDisk } from './small-disk.ts'

/** Needs root, to mount. */
describe('an import whose journal is on a disk that is full', function () {
  this.timeout(60_000)
  let trial: ImportTrial
  let disk: { path: string; unmount(): void }
  before(async () => {
    trial = await ImportTrial.begin({ rows: 120, delay: 5 })
    disk = mountSmallDisk(trial.sandbox, '256k')
    trial.sandbox.env['XDG_STATE_HOME'] = disk.path
  })
  after(async () => {
    disk.unmount()
    await trial.end()
  })

  const ballast = () => join(disk.path, 'ballast')

  function fill(): void {
    const { bavail, bsize } = statfsSync(disk.path)
    writeFileSync(ballast(), Buffer.alloc(bavail * bsize))
  }

  it('sends nothing that it cannot write down, and goes on when there is room', async () => {
    const run = await trial.run({ at: { atRequest: 40 }, act: fill })
    expect(run.exitCode, run.stderr).to.equal(1)
    expect(run.stderr).to.contain('ENOSPC')
    expectExactlyOnce(trial)
    const again = await trial.run()
    expect(again.exitCode, again.stderr).to.equal(1)
    expectExactlyOnce(trial)
    rmSync(ballast())
    const last = await trial.run()
    expect(last.exitCode, last.stderr).to.equal(9)
    // Outcomes that found no room are as after a kill.
    expectSettled(trial, 1)
  })
})
