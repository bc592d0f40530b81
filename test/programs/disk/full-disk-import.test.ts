import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectExactlyOnce, expectSettled } from '../../slow/users/import/expect-settled.ts'
import { ImportTrial } from '../../slow/users/import/import-trial.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('an import with its journal on a full disk', function () {
  this.timeout(60_000)
  const trial = perSuite(
    () => ImportTrial.begin({ rows: 120, delay: 5 }),
    (opened) => opened.end(),
  )
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

/** Needs root to mount a disk. */
describe('an import with a full temporary directory', function () {
  this.timeout(60_000)

  it('fails before it sends anything, and leaves no file there', async () => {
    const sandbox = createSandbox()
    const disk = mountSmallDisk(sandbox, '1m')
    try {
      const path = join(sandbox.home, 'users.csv')
      const emails = Array.from({ length: 100_000 }, (_, row) => `${'a'.repeat(200)}-${row}@example.com\n`)
      writeFileSync(path, `email\n${emails.join('')}`)
      const run = await runProgram(sandbox, ['users', 'import', path, '--yes'], {
        env: { TMPDIR: disk.path, CHATCTL_BASE_URL: 'http://127.0.0.1:9', CHATCTL_API_KEY: 'some-api-key' },
        timeout: 50_000,
      })
      expectFailure(run, 1, 'Cannot use the temporary directory: database or disk is full', 'TMPDIR')
      expect(readdirSync(disk.path)).to.deep.equal([])
    } finally {
      disk.unmount()
      sandbox.remove()
    }
  })
})
