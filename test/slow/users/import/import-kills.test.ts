import { expect } from 'chai'
import type { UsersOptions } from '../../../support/handlers/users.ts'
import { createRandom } from '../../../support/random.ts'
import { takeSample } from '../../../support/take-sample.ts'
import { expectExactlyOnce, expectSettled } from './expect-settled.ts'
import { ImportTrial, killedMoments, killedRows, type Moment } from './import-trial.ts'

/** What the server does to some of the requests. */
const hardships: UsersOptions = {
  delay: 8,
  idIn: ['body', 'location'],
  fates: { lost: 0.02, refused: 0.01, 'failed after': 0.01, 'failed before': 0.01, slow: 0.03 },
}

/** Bursts of 429, with and without headers that state how long to wait. */
const storms: UsersOptions['quota'][] = [
  undefined,
  { requests: 120, window: 500, headers: 'none' },
  { requests: 120, window: 500, headers: 'RateLimit' },
]

const cut = (kill: (signal: NodeJS.Signals) => void) => kill('SIGKILL')

describe('a killed import', () => {
  /** Duration and number of requests of an import that is not killed. */
  let whole: { ms: number; requests: number }

  before(async () => {
    const trial = await ImportTrial.begin({ ...hardships, rows: killedRows, seed: 0 })
    try {
      const started = Date.now()
      const run = await trial.run()
      whole = { ms: Date.now() - started, requests: trial.requests }
      expect(run.exitCode, run.stderr).to.equal(9)
      expectSettled(trial, 0)
    } finally {
      await trial.end()
    }
  })

  const moments = Array.from({ length: killedMoments }, (_, index) => index)
  const { sample, words } = takeSample(moments, 2)
  for (const moment of sample) {
    it(`completes each row once and reports unknown outcomes (moment ${moment}; ${words})`, async () => {
      const random = createRandom(moment)
      const quota = storms[moment % storms.length]
      const trial = await ImportTrial.begin({
        ...hardships,
        rows: killedRows,
        seed: moment,
        ...(quota && { quota }),
      })
      // The first kills of all the tests are spread evenly over the run. Later kills are random.
      const momentAt = (share: number): Moment => {
        const request = Math.floor(share * whole.requests)
        const kinds = [{ afterMs: share * whole.ms }, { atRequest: request }, { atCreate: request }]
        return kinds[Math.floor(random() * kinds.length)] ?? { atRequest: request }
      }
      const kills = [momentAt(moment / moments.length)]
      for (let more = moment % 4; more > 0; more--) kills.push(momentAt(random()))
      try {
        let killed = 0
        let run = { exitCode: null as number | null, stderr: '' }
        for (const at of [...kills, undefined]) {
          run = await trial.run({ at, act: cut })
          expectExactlyOnce(trial)
          if (run.exitCode !== null) break
          killed++
        }
        expect(run.exitCode, run.stderr).to.equal(9)
        expectSettled(trial, killed)
      } finally {
        await trial.end()
      }
    })
  }
})
