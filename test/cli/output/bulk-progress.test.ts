import { expect } from 'chai'
import {
  type BulkState,
  describeBulk,
  describeTime,
  RateMeter,
} from '../../../src/cli/output/bulk-progress.ts'
import type { Output } from '../../../src/cli/output/output.ts'
import { drawBar, ProgressLine } from '../../../src/cli/output/progress-line.ts'

/** Local time, because progress is shown in local time. */
const now = new Date(2026, 2, 1, 13, 0, 0).getTime()

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
      { pause: { until: now + 65 * 60_000, why: 'quota' } },
      'quota used up, paused until 14:05, 5,000 of 20,000 users done',
    ],
    [
      'a pause for the rate limit of the service',
      { pause: { until: now + 30_000, why: 'limited' } },
      'rate limited, paused until 13:00:30, 5,000 of 20,000 users done',
    ],
    [
      'zero rows of the total',
      { counts: { done: 0, failed: 0, unknown: 0 }, perSecond: 0, left: undefined },
      '0 of 20,000 users done',
    ],
  ]
  for (const [name, part, text] of cases) {
    it(`shows ${name}`, () => expect(describeBulk({ ...state, ...part }, now)).to.equal(text))
  }

  it('shows local times, with the date if it is another day', () => {
    expect(describeTime(now + 5 * 60_000, now)).to.equal('13:05')
    expect(describeTime(now + 61_000, now)).to.equal('13:01:01')
    expect(describeTime(now + 12 * 3_600_000, now)).to.equal('2026-03-02 01:00')
  })
})

describe('the progress line', () => {
  it('has no bar if stderr is not a terminal', () => {
    const said: string[] = []
    const output = { canRedraw: false, progress: (text: string) => said.push(text) }
    const line = new ProgressLine(output as unknown as Output, 0)
    line.show(() => '5 of 10 users done', 0.5, 10_000)
    expect(said).to.deep.equal(['5 of 10 users done'])
  })

  it('has a bar with the percentage in a terminal', () => {
    expect(drawBar(0.25)).to.equal('█████░░░░░░░░░░░░░░░ 25%')
    expect(drawBar(1.2)).to.equal('████████████████████ 100%')
  })
})

describe('the rate of a bulk command', () => {
  it('is measured over the last ten seconds', () => {
    const pace = new RateMeter(0, 100)
    expect(pace.measure(0, 100)).to.equal(0)
    expect(pace.measure(1000, 150)).to.equal(50)
    let count = 150
    for (let at = 1250; at <= 60_000; at += 250) {
      count += 25
      pace.measure(at, count)
    }
    expect(pace.measure(60_000, count)).to.equal(100)
    for (let at = 60_250; at <= 75_000; at += 250) pace.measure(at, count)
    expect(pace.measure(75_000, count)).to.equal(0)
  })
})
