import { expect } from 'chai'
import { withPlace } from '../../service/temporary-service.ts'
import { takesAll } from '../../support/take-sample.ts'
import { killTrial } from './kill-trial.ts'

const kills = takesAll ? 50 : 3

describe('a service that is killed under load', () => {
  it('has stored everything that it acknowledged in SQLite, and nothing in part', async function () {
    this.timeout(kills * 10_000)
    expect(await withPlace('sqlite', (place) => killTrial(place, kills))).to.be.at.least(kills)
  })
})
