import { expect } from 'chai'
import { parseQuota } from '../../src/config/quota.ts'

describe('a quota', () => {
  for (const [text, requests, window] of [
    ['100/h', 100, 3_600_000],
    ['60/m', 60, 60_000],
    ['5/s', 5, 1000],
    ['10000/d', 10_000, 86_400_000],
    [' 100 / H ', 100, 3_600_000],
    ['free', 100, 3_600_000],
    ['Pro', 1000, 3_600_000],
  ] as const)
    it(`can be ${JSON.stringify(text)}`, () => expect(parseQuota(text)).to.deep.equal({ requests, window }))

  for (const text of ['', ...'100 h /h 100/w -5/h 1.5/h 100/h/h constructor 1e3/h 9999999999/h'.split(' ')])
    it(`cannot be ${JSON.stringify(text)}`, () =>
      expect(() => parseQuota(text)).to.throw('is not a rate limit such as 100/h'))

  it('cannot be zero', () => expect(() => parseQuota('0/h')).to.throw('would allow no request'))

  it('of the enterprise tier must be given as a number', () =>
    expect(() => parseQuota('enterprise')).to.throw('give a number, such as 5000/h'))
})
