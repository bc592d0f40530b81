import { expect } from 'chai'
import { estimateDuration } from '../../../src/bulk/send/throttle.ts'

const hour = 3_600_000

describe('the estimated duration of an import', () => {
  const cases: [string, Parameters<typeof estimateDuration>[0], number][] = [
    ['depends on the rate', { requests: 500, perSecond: 10, quota: undefined }, 50_000],
    ['is zero without requests', { requests: 0, perSecond: 0, quota: undefined }, 0],
    [
      'has no pause if the quota suffices',
      { requests: 100, perSecond: 10, quota: { limit: 100, window: hour } },
      10_000,
    ],
    [
      'includes one pause',
      { requests: 150, perSecond: 10, quota: { limit: 100, window: hour } },
      hour + 5000,
    ],
    [
      'includes whole windows',
      { requests: 1000, perSecond: 10, quota: { limit: 100, window: hour } },
      9 * hour + 10_000,
    ],
    [
      'includes the rest of the current window',
      { requests: 150, perSecond: 10, quota: { limit: 100, remaining: 20, reset: 60_000 } },
      60_000 + hour + 3000,
    ],
    [
      'includes a pause at the start if the quota is used up',
      { requests: 10, perSecond: 10, quota: { limit: 100, remaining: 0, reset: 60_000 } },
      61_000,
    ],
    ['assumes a window of an hour', { requests: 101, perSecond: 10, quota: { limit: 100 } }, hour + 100],
    [
      'needs no limit if the headers have only the remaining requests',
      { requests: 30, perSecond: 10, quota: { remaining: 10, reset: 5000 } },
      7000,
    ],
    [
      'has no pause if the rate stays within the quota',
      { requests: 600, perSecond: 1, quota: { limit: 100, window: 60_000 } },
      600_000,
    ],
    ['ignores a reset without a limit', { requests: 30, perSecond: 10, quota: { reset: 5000 } }, 3000],
  ]
  for (const [name, what, expected] of cases) {
    it(name, () => expect(estimateDuration(what)).to.be.closeTo(expected, 1))
  }
})
