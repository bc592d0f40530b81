import { expect } from 'chai'
import fc from 'fast-check'
import { matchesSubject } from '../../../src/service/oauth/trust/verify-identity-token.ts'
import { forAll } from '../../support/for-all.ts'

const app = 'repo:acme/app'
const branch = `${app}:ref:refs/heads/`

const cases: [pattern: string, matching: string[], others: string[]][] = [
  [`${branch}main`, [`${branch}main`], [`x-${branch}main`, `${branch}main2`, '', `${branch}main\n`]],
  [`${branch}main`, [], ['repo:Acme/app:ref:refs/heads/main']],
  [`${branch}*`, [`${branch}main`, `${branch}a/b`, branch], [`${branch}a:b`, `${app}:ref:refs/tags/a`]],
  [`${branch}*`, [], ['repo:acme/app-evil:ref:refs/heads/main']],
  [
    'repo:acme/*:environment:prod',
    ['repo:acme/a:environment:prod'],
    ['repo:acme/a:environment:prod:environment:prod'],
  ],
  [`${app}:**`, [`${app}:`, `${branch}main`], [`${app}-evil:x`]],
  ['a**z', ['az', 'a:b:z', 'azz'], ['a', 'az:', 'za']],
  ['a.b[c]?(d|e)+^$\\', ['a.b[c]?(d|e)+^$\\'], ['axb[c]?(d|e)+^$\\', 'a.bc']],
  ['😀*', ['😀', '😀x'], ['\u{1f601}x']],
]

/** The same rules as a regular expression, whose time may be exponential. */
const asExpression = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split(/(\*\*|\*)/)
      .map((part) => (part === '**' ? '.*' : part === '*' ? '[^:]*' : part.replace(/[^\w]/gu, '\\$&')))
      .join('')}$`,
    's',
  )

describe('a pattern of subjects', () => {
  for (const [pattern, matching, others] of cases)
    it(`matches whole subjects: ${pattern}`, () => {
      for (const subject of matching) expect(matchesSubject(pattern, subject), subject).to.equal(true)
      for (const subject of others) expect(matchesSubject(pattern, subject), subject).to.equal(false)
    })

  it('matches as a regular expression does', () => {
    const text = (alphabet: string) => fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 12 })
    let matches = 0
    fc.assert(
      fc.property(text('ab:/*'), text('ab:/*'), (given, subject) => {
        const pattern = given.replaceAll(/\*{3,}/g, '**')
        const expected = asExpression(pattern).test(subject)
        if (expected && subject !== '') matches += 1
        expect(matchesSubject(pattern, subject)).to.equal(expected)
      }),
      { numRuns: 2_000 },
    )
    expect(matches).to.be.above(20)
  })

  it('matches every subject from which it was made', () =>
    forAll(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), fc.nat(), (parts, at) => {
      const subject = parts.join(':')
      const pattern = parts.with(at % parts.length, '**').join(':')
      expect(matchesSubject(pattern.replaceAll(/\*{3,}/g, '**'), subject)).to.equal(true)
    }))

  it('ends for a pattern that makes a regular expression backtrack without end', () =>
    expect(matchesSubject(`${'a**'.repeat(170)}b`, 'a'.repeat(512))).to.equal(false))
})
