import { expect } from 'chai'
import { withPlace } from '../../service/temporary-service.ts'
import { killTrial } from '../../slow/service/kill-trial.ts'
import { takesAll } from '../../support/take-sample.ts'

const kills = takesAll ? 50 : 3

describe('a service on PostgreSQL that is killed under load', () => {
  it('has stored everything that it acknowledged, and nothing partially', async function () {
    this.timeout(kills * 10_000)
    expect(await withPlace('postgres', (place) => killTrial(place, kills))).to.be.at.least(kills)
  })
})
