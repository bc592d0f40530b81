import { expect } from 'chai'
import { expectExactlyOnce, expectSettled } from '../../slow/users/import/expect-settled.ts'
import { ImportTrial } from '../../slow/users/import/import-trial.ts'
import { perSuite } from '../../support/lifetime.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('an import with its journal on a full disk', () => {
  const trial = perSuite(() => ImportTrial.begin({ rows: 120, delay: 5 }))
  let disk: { path: string; unmount(): void }
  before(() => {
    disk = mountSmallDisk(trial.sandbox, '256k')
    trial.sandbox.env['XDG_STATE_HOME'] = disk.path
  })
  after(() => {
    disk.unmount()
  })

  it('sends nothing that it cannot record, and resumes when there is space', async () => {
    let free = () => {}
    const fill = () => {
      free = fillDisk(disk.path)
    }
    const run = await trial.run({ at: { atRequest: 40 }, act: fill })
    expect(run.exitCode, run.stderr).to.equal(1)
    expect(run.stderr).to.contain('ENOSPC')
    expectExactlyOnce(trial)
    const ids = trial.readResults().map(({ id }) => id)
    expect(ids).to.include.members(trial.createdUsers().map(({ id }) => id))
    const again = await trial.run()
    expect(again.exitCode, again.stderr).to.equal(1)
    expectExactlyOnce(trial)
    free()
    const last = await trial.run()
    expect(last.exitCode, last.stderr).to.equal(9)
    // Outcomes that could not be recorded are unknown, as after a kill.
    expectSettled(trial, 1)
  })
})
