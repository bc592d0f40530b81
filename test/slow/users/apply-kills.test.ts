import { expect } from 'chai'
import type { UsersOptions } from '../../support/handlers/users.ts'
import { createRandom } from '../../support/random.ts'
import { takeSample } from '../../support/take-sample.ts'
import { ApplyTrial, type Moment } from './apply-trial.ts'

const count = 40

/** What the server does to some of the requests. It does not refuse a second user with the same email. */
const hardships: UsersOptions = {
  delay: 8,
  idIn: ['body', 'location'],
  allowsDuplicates: true,
  fates: { lost: 0.02, refused: 0.01, 'failed after': 0.01, 'failed before': 0.01, slow: 0.03 },
}

const storms: UsersOptions['quota'][] = [
  undefined,
  { requests: 60, window: 250, headers: 'none' },
  { requests: 60, window: 250, headers: 'RateLimit' },
]

function expectNoUserTwice(trial: ApplyTrial): void {
  const twice = trial.users.filter(({ email }) => trial.usersWith(email).length > 1)
  expect(twice).to.deep.equal([])
}

/** Resolves the creates with an unknown outcome, as the output advises. */
async function resolveUnknown(trial: ApplyTrial): Promise<void> {
  const unknown = trial.entries().filter(({ creation }) => creation !== undefined)
  const found = unknown.flatMap(({ email }) => trial.usersWith(email).map(({ id }) => ({ email, id })))
  await trial.adopt(found)
}

function expectAgreement(trial: ApplyTrial): void {
  const entries = trial.entries()
  expect(entries.map(({ email }) => email).sort()).to.deep.equal(trial.users.map(({ email }) => email).sort())
  const passwords = trial.passwords()
  const { assignments } = trial.server.report()
  for (const { email, name, theme, role } of trial.users) {
    const [user, ...others] = trial.usersWith(email)
    expect(others, email).to.deep.equal([])
    expect(entries.find((entry) => entry.email === email)).to.deep.include({ id: user?.id })
    expect(user, email).to.deep.include({ name, ...(theme !== '' && { settings: { theme } }) })
    if (role !== '') expect(assignments.get(user?.id ?? '')?.at(-1), email).to.deep.equal({ role })
    // The known users had been created before.
    if (user?.password !== undefined) expect(passwords.get(email), email).to.equal(user.password)
  }
}

describe('a killed users apply', () => {
  /** Duration and number of requests of a run that is not killed. */
  let whole: { ms: number; requests: number }

  before(async () => {
    const trial = await ApplyTrial.begin({ ...hardships, count, seed: 0 })
    try {
      const started = Date.now()
      const run = await trial.run()
      expect(run.exitCode, run.stderr).to.be.oneOf([0, 9])
      const requests = Object.values(trial.requests).reduce((sum, some) => sum + some, 0)
      whole = { ms: Date.now() - started, requests }
    } finally {
      await trial.end()
    }
  })

  const { sample, words } = takeSample(
    Array.from({ length: 20 }, (_, index) => index),
    1,
  )
  for (const seed of sample) {
    const losesHome = seed % 2 === 1
    const where = losesHome ? ', each time on a new machine' : ''
    it(`creates no user twice, and the next runs complete all (10 kills${where}, seed ${seed}; ${words})`, async () => {
      const random = createRandom(seed)
      const quota = storms[seed % storms.length]
      const trial = await ApplyTrial.begin({ ...hardships, count, seed, ...(quota && { quota }) })
      const randomMoment = (): Moment =>
        random() < 0.5
          ? { afterMs: random() * whole.ms }
          : { atRequest: Math.ceil(random() * whole.requests) }
      try {
        for (let runs = 1, kills = 0; kills < 10; runs++) {
          const { exitCode } = await trial.run({ at: randomMoment() })
          if (exitCode === null) kills++
          // The state file and its journal must know enough alone.
          if (losesHome) trial.loseHome()
          expectNoUserTwice(trial)
          expect(trial.falsePasswords()).to.deep.equal([])
          // Every second run meets a file with more users and other names.
          if (runs % 2 === 0) trial.writeFile(count + 4 * runs, ` ${runs}`)
        }
        const run = await trial.run()
        expect(run.exitCode, run.stderr).to.be.oneOf([0, 9])
        expectNoUserTwice(trial)

        trial.server.endFates()
        trial.server.liftQuota()
        await resolveUnknown(trial)
        const resolved = await trial.run({ flags: ['--retry-unknown'] })
        expect(resolved.exitCode, resolved.stderr).to.equal(0)
        expectAgreement(trial)
        expect(trial.falsePasswords()).to.deep.equal([])
        const last = await trial.run()
        expect(last, last.stderr).to.include({ exitCode: 0, stdout: 'No changes.\n' })
        expect(Object.keys(trial.requests)).to.deep.equal(['GET'])
      } finally {
        await trial.end()
      }
    })
  }
})
