import { expect } from 'chai'
import { describeBulk, drawBar } from '../../../src/cli/output/progress.ts'

type BulkState = Parameters<typeof describeBulk>[0]

describe('the progress of a bulk command', () => {
  const state: BulkState = {
    noun: 'user',
    total: 20_000,
    counts: { done: 5000, failed: 0, unknown: 0 },
    perSecond: 123.4,
    left: 122_000,
    pause: undefined,
  }
  const cases: [string, Partial<BulkState>, string][] = [
    ['the count, the rate, and the time left', {}, '5,000 of 20,000 users done, 123/s, 3m left'],
    [
      'failed and unknown rows',
      { counts: { done: 5000, failed: 4990, unknown: 10 } },
      '5,000 of 20,000 users done, 4,990 failed, 10 unknown, 123/s, 3m left',
    ],
    ['at least one second left', { left: 20 }, '5,000 of 20,000 users done, 123/s, 1s left'],
    [
      'the count and the rate if the total is unknown',
      { total: undefined, left: undefined },
      '5,000 users done, 123/s',
    ],
    [
      'the singular and a fractional rate for one row',
      { total: undefined, left: undefined, perSecond: 0.25, counts: { done: 1, failed: 0, unknown: 0 } },
      '1 user done, 0.3/s',
    ],
    [
      'a pause for the quota',
      { pause: { ms: 65 * 60_000, why: 'quota' } },
      'quota used up, paused for 1h 5m, 5,000 of 20,000 users done',
    ],
    [
      'a pause for the rate limit of the service',
      { pause: { ms: 30_000, why: 'limited' } },
      'rate limited, paused for 30s, 5,000 of 20,000 users done',
    ],
    [
      'zero rows of the total',
      { counts: { done: 0, failed: 0, unknown: 0 }, perSecond: 0, left: undefined },
      '0 of 20,000 users done',
    ],
  ]
  for (const [name, part, text] of cases)
    it(`shows ${name}`, () => expect(describeBulk({ ...state, ...part })).to.equal(text))

  it('has a bar with the percentage in a terminal', () => {
    expect(drawBar(0.25)).to.equal('█████░░░░░░░░░░░░░░░ 25%')
    expect(drawBar(1.2)).to.equal('████████████████████ 100%')
  })
})
