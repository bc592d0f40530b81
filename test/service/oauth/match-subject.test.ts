import { expect } from 'chai'
import fc from 'fast-check'
import { matchesSubject } from '../../../src/service/oauth/trust/verify-identity-token.ts'

const cases: [pattern: string, matching: string[], others: string[]][] = [
  [
    'repo:acme/app:ref:refs/heads/main',
    ['repo:acme/app:ref:refs/heads/main'],
    [
      ...['x-repo:acme/app:ref:refs/heads/main', 'repo:acme/app:ref:refs/heads/main2', ''],
      ...['repo:acme/app:ref:refs/heads/main\n', 'repo:Acme/app:ref:refs/heads/main'],
    ],
  ],
  [
    'repo:acme/app:ref:refs/heads/*',
    [
      'repo:acme/app:ref:refs/heads/main',
      'repo:acme/app:ref:refs/heads/a/b',
      'repo:acme/app:ref:refs/heads/',
    ],
    [
      'repo:acme/app:ref:refs/heads/a:b',
      'repo:acme/app-evil:ref:refs/heads/main',
      'repo:acme/app:ref:refs/tags/a',
    ],
  ],
  [
    'repo:acme/*:environment:prod',
    ['repo:acme/a:environment:prod'],
    ['repo:acme/a:environment:prod:environment:prod'],
  ],
  ['repo:acme/app:**', ['repo:acme/app:', 'repo:acme/app:ref:refs/heads/main'], ['repo:acme/app-evil:x']],
  ['a**z', ['az', 'a:b:z', 'azz'], ['a', 'az:', 'za']],
  ['a.b[c]?(d|e)+^$\\', ['a.b[c]?(d|e)+^$\\'], ['axb[c]?(d|e)+^$\\', 'a.bc']],
  ['😀*', ['😀', '😀x'], ['\u{1f601}x']],
]

describe('a pattern of subjects', () => {
  for (const [pattern, matching, others] of cases) {
    it(`matches whole subjects: ${pattern}`, () => {
      for (const subject of matching) expect(matchesSubject(pattern, subject), subject).to.equal(true)
      for (const subject of others) expect(matchesSubject(pattern, subject), subject).to.equal(false)
    })
  }

  it('matches every subject from which it was made', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), fc.nat(), (parts, at) => {
        const subject = parts.join(':')
        const pattern = parts.with(at % parts.length, '**').join(':')
        expect(matchesSubject(pattern.replaceAll(/\*{3,}/g, '**'), subject)).to.equal(true)
      }),
    )
  })
})
