import { expect } from 'chai'
import { createRandom } from '../../support/random.ts'
import { takeSample } from '../../support/take-sample.ts'
import type { UsersServerOptions } from '../../support/users-server.ts'
import { ApplyTrial, type Moment } from './apply-trial.ts'

const count = 200

/** What the server does to some of the requests. It does not refuse a second user with the same email. */
const hardships: UsersServerOptions = {
  delay: 8,
  idIn: ['body', 'location'],
  allowsDuplicates: true,
  fates: { lost: 0.02, refused: 0.01, 'failed after': 0.01, 'failed before': 0.01, slow: 0.03 },
}

const storms: UsersServerOptions['quota'][] = [
  undefined,
  { requests: 120, window: 500, headers: 'none' },
  { requests: 120, window: 500, headers: 'RateLimit' },
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

describe('a killed users apply', function () {
  this.timeout(120_000)
  /** Duration and number of requests of a run that is not killed. */
  let whole: { ms: number; requests: number }

  before(async () => {
    const trial = await ApplyTrial.begin({ ...hardships, count, seed: 0 })
    try {
      const started = Date.now()
      const run = await trial.run()
      expect(run.exitCode, run.stderr).to.equal(9)
      const requests = Object.values(trial.requests).reduce((sum, some) => sum + some, 0)
      whole = { ms: Date.now() - started, requests }
    } finally {
      await trial.end()
    }
  })

  const moments = Array.from({ length: 200 }, (_, index) => index)
  const { sample, words } = takeSample(moments, 6)
  for (const moment of sample) {
    it(`creates no user twice, and the next runs complete all (moment ${moment}; ${words})`, async () => {
      const random = createRandom(moment)
      const quota = storms[moment % storms.length]
      const trial = await ApplyTrial.begin({ ...hardships, count, seed: moment, ...(quota && { quota }) })
      // The first kills of all the tests are spread evenly over the run. Later kills are random.
      const momentAt = (share: number): Moment =>
        random() < 0.5 ? { afterMs: share * whole.ms } : { atRequest: Math.floor(share * whole.requests) }
      const kills = [momentAt(moment / moments.length)]
      for (let more = moment % 4; more > 0; more--) kills.push(momentAt(random()))
      try {
        for (const at of kills) {
          await trial.run({ at })
          expectNoUserTwice(trial)
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
        const last = await trial.run()
        expect(last, last.stderr).to.include({ exitCode: 0, stdout: 'No changes.\n' })
        expect(Object.keys(trial.requests)).to.deep.equal(['GET'])
      } finally {
        await trial.end()
      }
    })
  }
})
