import { expect } from 'chai'
import { needPostgres } from '../support/postgres.ts'
import { killTrial } from './kill-trial.ts'
import { type Engine, withPlace } from './temporary-service.ts'

/** Kills for each engine; all of them in the full run. */
const kills = process.env['CHATCTL_TEST_FULL'] === '1' ? 50 : 3

describe('a service that is killed under load', () => {
  for (const engine of ['sqlite', 'postgres'] satisfies Engine[]) {
    it(`has everything on ${engine} that it said it had stored, and nothing by half`, async function () {
      if (engine === 'postgres') needPostgres(this)
      this.timeout(kills * 10_000)
      expect(await withPlace(engine, (place) => killTrial(place, kills))).to.be.at.least(kills)
    })
  }
})
