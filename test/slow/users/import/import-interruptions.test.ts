import { expect } from 'chai'
import { perTest } from '../../../support/lifetime.ts'
import { describeSample } from '../../../support/take-sample.ts'
import { findFalsePasswords } from '../named-passwords.ts'
import { expectSettled } from './expect-settled.ts'
import { concurrency, ImportTrial } from './import-trial.ts'

const statuses = (trial: ImportTrial, status: string) =>
  trial.readResults().filter((result) => result.status === status)

describeSample('an interrupted import', 2, () => {
  const trial = perTest(() => ImportTrial.begin({ rows: 120, delay: 30 }))

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`waits for requests in flight after ${signal}, leaves no outcome unknown, and resumes`, async () => {
      const run = await trial.run({ at: { atRequest: 40 }, act: (kill) => kill(signal) })
      expect(run.exitCode, run.stderr).to.equal(exitCode)
      expect(statuses(trial, 'unknown')).to.deep.equal([])
      expect(statuses(trial, 'created').length).to.be.above(0)
      const made = [...trial.server.report().creates.values()].flatMap(({ ids }) => ids)
      const known = new Set(trial.readResults().map(({ id }) => id))
      expect(made.filter((id) => !known.has(id))).to.deep.equal([])
      const again = await trial.run()
      expect(again.exitCode, again.stderr).to.equal(9)
      expectSettled(trial, 0)
    })
  }

  it('stops when the network is lost, and resumes when it is back', async () => {
    const run = await trial.run({ at: { atRequest: 40 }, act: () => void trial.server.close() })
    expect(run.exitCode, run.stderr).to.equal(69)
    await trial.server.open()
    const again = await trial.run()
    expect(again.exitCode, again.stderr).to.equal(9)
    // As after a kill, the outcome of requests in flight is unknown.
    expectSettled(trial, 1)
    expect(statuses(trial, 'unknown').length).to.be.at.most(concurrency)
  })

  it('leaves no outcome unknown if no request has reached the service', async () => {
    await trial.server.close()
    const run = await trial.run()
    expect(run.exitCode, run.stderr).to.equal(69)
    await trial.server.open()
    const again = await trial.run()
    expect(again.exitCode, again.stderr).to.equal(9)
    expectSettled(trial, 0)
    expect(statuses(trial, 'unknown')).to.deep.equal([])
  })
})

describe('an import with generated passwords', () => {
  it('flushes each password to disk before it sends it to the service', async () => {
    const trial = await ImportTrial.begin({
      rows: 120,
      delay: 10,
      passwords: false,
      flags: ['--generate-passwords'],
    })
    try {
      for (const atRequest of [1, 30, 31]) {
        const run = await trial.run({ at: { atRequest }, act: (kill) => kill('SIGKILL') })
        expect(run.exitCode).to.equal(null)
        const kept = trial.resultsText()
        for (const { password = '' } of trial.createdUsers()) expect(kept).to.contain(password)
        expect(findFalsePasswords(trial.results, trial.createdUsers())).to.deep.equal([])
      }
      const run = await trial.run()
      expect(run.exitCode, run.stderr).to.equal(9)
      expectSettled(trial, 3)
      expect(findFalsePasswords(trial.results, trial.createdUsers())).to.deep.equal([])
      const passwords = new Map(trial.readResults().map(({ email, password }) => [email, password]))
      const created = trial.createdUsers()
      expect(created.length).to.be.above(50)
      for (const { email = '', password = '' } of created) {
        expect(password).not.to.equal('')
        expect(passwords.get(email), email).to.equal(password)
      }
      for (const { text, path } of trial.stateFiles()) {
        for (const { password = '' } of created) expect(text.includes(password), path).to.equal(false)
      }
    } finally {
      await trial.end()
    }
  })
})
