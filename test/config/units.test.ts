import { expect } from 'chai'
import { parseQuota } from '../../src/config/quota.ts'
import { parseFutureTime, parsePastTime } from '../../src/config/units.ts'

const now = Date.parse('2026-06-15T12:00:00Z')
const iso = (time: number | undefined) => time && new Date(time).toISOString()

describe('a moment on the command line', () => {
  it('is a date, a time, or a duration before or after now', () => {
    for (const parse of [parsePastTime, parseFutureTime]) {
      expect(iso(parse('2026-01-31', now))).to.equal('2026-01-31T00:00:00.000Z')
      expect(iso(parse(' 2026-01-31T08:00:00+02:00 ', now))).to.equal('2026-01-31T06:00:00.000Z')
    }
    expect(iso(parsePastTime('7d', now))).to.equal('2026-06-08T12:00:00.000Z')
    expect(iso(parseFutureTime('7d', now))).to.equal('2026-06-22T12:00:00.000Z')
    expect(iso(parsePastTime('1.5h', now))).to.equal('2026-06-15T10:30:00.000Z')
    expect(iso(parseFutureTime('90m', now))).to.equal('2026-06-15T13:30:00.000Z')
  })

  it('cannot have another notation', () => {
    for (const text of ['', '30', '2026', '31.01.2026', '2026-13-01', 'soon', '-1d', '1w', 'd'])
      for (const parse of [parsePastTime, parseFutureTime]) expect(parse(text, now), text).to.equal(undefined)
    expect(parseFutureTime('99999999d', now)).to.equal(undefined)
  })
})

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
