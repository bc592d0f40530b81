import { expect } from 'chai'
import { estimateDuration } from '../../../src/bulk/send/estimate.ts'

const hour = 3_600_000

describe('how long it will take', () => {
  const cases: [string, Parameters<typeof estimateDuration>[0], number][] = [
    ['the rate alone', { requests: 500, perSecond: 10, quota: undefined }, 50_000],
    ['nothing to do', { requests: 0, perSecond: 0, quota: undefined }, 0],
    ['a quota that is enough', { requests: 100, perSecond: 10, quota: { limit: 100, window: hour } }, 10_000],
    ['one pause', { requests: 150, perSecond: 10, quota: { limit: 100, window: hour } }, hour + 5000],
    [
      'whole windows',
      { requests: 1000, perSecond: 10, quota: { limit: 100, window: hour } },
      9 * hour + 10_000,
    ],
    [
      'what is left of the window',
      { requests: 150, perSecond: 10, quota: { limit: 100, remaining: 20, reset: 60_000 } },
      60_000 + hour + 3000,
    ],
    [
      'nothing left now',
      { requests: 10, perSecond: 10, quota: { limit: 100, remaining: 0, reset: 60_000 } },
      61_000,
    ],
    ['an hour where nothing says', { requests: 101, perSecond: 10, quota: { limit: 100 } }, hour + 100],
    ['only what remains', { requests: 30, perSecond: 10, quota: { remaining: 10, reset: 5000 } }, 7000],
    [
      'a rate that keeps within the quota',
      { requests: 600, perSecond: 1, quota: { limit: 100, window: 60_000 } },
      600_000,
    ],
    ['a reset alone', { requests: 30, perSecond: 10, quota: { reset: 5000 } }, 3000],
  ]
  for (const [name, what, expected] of cases) {
    it(name, () => expect(estimateDuration(what)).to.be.closeTo(expected, 1))
  }
})
