import { expect } from 'chai'
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
