import { expect } from 'chai'
import {
  readPolicy,
  readQuota,
  readRetryAfter,
  readWait,
} from '../../../src/client/response/rate-limit-headers.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

describe('a rate limit in response headers', () => {
  it('is read from Retry-After in seconds', () => {
    expect(readRetryAfter({ 'retry-after': '120' }, now)).to.equal(120_000)
    expect(readRetryAfter({ 'retry-after': ' 0 ' }, now)).to.equal(0)
  })

  it('is read from Retry-After as an HTTP date, and is never negative', () => {
    expect(readRetryAfter({ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, now)).to.equal(30_000)
    expect(readRetryAfter({ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, now)).to.equal(0)
  })

  it('is measured from the Date header if the response has one', () => {
    const headers = { 'retry-after': 'Sun, 01 Mar 2026 15:00:30 GMT', date: 'Sun, 01 Mar 2026 15:00:00 GMT' }
    expect(readRetryAfter(headers, now)).to.equal(30_000)
  })

  it('is undefined if Retry-After is neither a number nor a date', () => {
    for (const value of ['soon', '-5', '1e3', '', '5 minutes or so x'])
      expect(readRetryAfter({ 'retry-after': value }, now), value).to.equal(undefined)
  })

  it('is at most a year, so that its end is a date', () => {
    const year = 365 * 24 * 3600 * 1000
    expect(readRetryAfter({ 'retry-after': '9'.repeat(400) }, now)).to.equal(year)
    expect(readWait({ ratelimit: `"x";r=0;t=${'9'.repeat(20)}` }, now)).to.equal(year)
    expect(readWait({ 'x-ratelimit-reset': '9'.repeat(30) }, now)).to.equal(year)
  })

  const quotas: [string, Record<string, string>, ReturnType<typeof readQuota>][] = [
    ['a structured RateLimit field', { ratelimit: '"default";r=0;t=30' }, { remaining: 0, reset: 30_000 }],
    ['the exhausted policy', { ratelimit: '"day";r=90;t=9000, "b";r=0;t=5' }, { remaining: 0, reset: 5000 }],
    [
      'the policy with the least left',
      { ratelimit: '"a";r=9;t=5, "b";r=1;t=6' },
      { remaining: 1, reset: 6000 },
    ],
    [
      'the longest exhausted one',
      { ratelimit: '"a";r=0;t=5, "b";r=0;t=50' },
      { remaining: 0, reset: 50_000 },
    ],
    [
      'separate fields',
      { 'ratelimit-limit': '100, 100;w=3600', 'ratelimit-remaining': '7', 'ratelimit-reset': '9' },
      { limit: 100, remaining: 7, reset: 9000 },
    ],
    ['X- fields in seconds from now', { 'x-ratelimit-reset': '12' }, { reset: 12_000 }],
    ['X- fields as a Unix time', { 'x-ratelimit-reset': `${now / 1000 + 40}` }, { reset: 40_000 }],
    [
      'X- fields as a Unix time in milliseconds',
      { 'x-ratelimit-reset': `${now + 40_000}` },
      { reset: 40_000 },
    ],
    ['no number before other text', { 'x-ratelimit-reset': '12 parsecs', 'x-ratelimit-remaining': '3x' }, {}],
    ['no headers', {}, {}],
    ['invalid headers', { ratelimit: 'plenty', 'ratelimit-reset': 'later' }, {}],
  ]
  for (const [what, headers, quota] of quotas)
    it(`is read from ${what}`, () => expect(readQuota(headers, now)).to.deep.equal(quota))

  it('is read from Retry-After before any quota', () => {
    expect(readWait({ 'retry-after': '3', ratelimit: '"x";r=0;t=30' }, now)).to.equal(3000)
    expect(readWait({ ratelimit: '"x";r=0;t=30' }, now)).to.equal(30_000)
    expect(readWait({}, now)).to.equal(undefined)
  })

  const hourly = { limit: 100, window: 3_600_000 }
  for (const [name, headers, policy] of [
    ['a structured RateLimit-Policy', { 'ratelimit-policy': '"hour";q=100;w=3600' }, hourly],
    ['the older RateLimit-Policy syntax', { 'ratelimit-policy': '10;w=1' }, { limit: 10, window: 1000 }],
    ['the strictest policy', { 'ratelimit-policy': '"s";q=10;w=1, "h";q=100;w=3600;comment="x"' }, hourly],
    ['a limit with a window', { 'ratelimit-limit': '100, 100;w=60' }, { limit: 100, window: 60_000 }],
    ['a limit without a window', { 'x-ratelimit-limit': '100' }, undefined],
    ['a window of zero', { 'ratelimit-policy': '100;w=0' }, undefined],
    ['no headers', {}, undefined],
  ] as [string, Record<string, string>, ReturnType<typeof readPolicy>][])
    it(`has a policy read from ${name}`, () => expect(readPolicy(headers)).to.deep.equal(policy))
})
