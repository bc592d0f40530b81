import { expect } from 'chai'
import { perTest } from '../../../support/lifetime.ts'
import { describeSample } from '../../../support/take-sample.ts'
import { ImportTrial } from './import-trial.ts'

describeSample('imported rows whose outcome is unknown', 1, () => {
  const trial = perTest(() =>
    ImportTrial.begin({ rows: 120, seed: 5, delay: 3, fates: { lost: 0.04, refused: 0.04 } }),
  )

  const unknown = () => trial.readResults().filter(({ status }) => status === 'unknown')
  /** Rows that could be created twice; the others are sent again automatically. */
  const unknownCreates = () => unknown().filter(({ line }) => trial.rowAt(Number(line)).id === undefined)
  const creates = () => trial.server.report().creates

  it('are listed in each run with the command that resolves them, and are not sent again', async () => {
    const first = await trial.run()
    expect(first.exitCode, first.stderr).to.equal(9)
    const open = unknownCreates().filter(({ id }) => id === '')
    expect(open.length).to.be.within(3, 10)
    const second = await trial.run()
    for (const { line, email } of open) {
      const command = new RegExp(`chatctl users import .*--on-unknown .*--line ${line}\\b`)
      for (const { stderr } of [first, second]) {
        expect(stderr).to.contain(email)
        expect(stderr).to.match(command)
      }
      expect(creates().get(email)?.met, email).to.have.length(1)
    }
  })

  it('are all resolved by --on-unknown retry, or by --on-unknown created with the id', async () => {
    const { users, assignments } = trial.server.report()
    await trial.run()
    const ids = () => [...creates().values()].map((create) => create.ids)
    for (let round = 0; unknown().length > 0; round++) {
      if (round === 10) throw new Error(`still unknown: ${JSON.stringify(unknown())}`)
      const run = await trial.run({ flags: ['--on-unknown', 'retry'] })
      expect(run.exitCode, run.stderr).to.equal(9)
      expect(ids().every((made) => made.length <= 1)).to.equal(true)
      // If the user was created after all, only its email is known, and the remaining steps need its id.
      for (const { line, email, id } of unknownCreates()) {
        const found = [...users.values()].find((user) => user.email === email)
        if (!found || id !== '') continue
        const flags = ['--on-unknown', 'created', '--id', found.id, '--line', line]
        expect((await trial.run({ flags })).exitCode).to.equal(9)
      }
    }
    const results = trial.readResults()
    // Only users that existed before the import fail.
    for (const { email, status } of results) {
      if (status === 'failed') expect(creates().get(email)?.ids, email).to.deep.equal([])
      else expect(status, email).to.be.oneOf(['created', 'updated'])
    }
    for (const { line, id, status } of results) {
      const { permissions } = trial.rowAt(Number(line))
      if (status !== 'failed' && permissions.length > 0) {
        expect(assignments.get(id)?.at(-1)?.permissions, `line ${line}`).to.deep.equal(permissions)
      }
    }
  })

  it('can be skipped with --on-unknown skip', async () => {
    await trial.run()
    const open = unknownCreates().filter(({ id }) => id === '')
    await trial.run({ flags: ['--on-unknown', 'skip'] })
    const statuses = new Map(trial.readResults().map(({ line, status }) => [line, status]))
    expect(open.map(({ line }) => statuses.get(line))).to.deep.equal(open.map(() => 'skipped'))
    for (const { email } of open) expect(creates().get(email)?.met, email).to.have.length(1)
  })
})
