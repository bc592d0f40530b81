import { expect } from 'chai'
import fc from 'fast-check'
import { checkCallback, checkPastedUrl, hasState } from '../../src/auth/check-callback.ts'
import { encode, issuer, judge, ours, state } from './expected-callback.ts'

describe('any callback of a sign-in', () => {
  const name = fc.constantFrom('code', 'state', 'error', 'iss', 'error_description', 'scope', 'Code', 'x')
  const value = fc.oneof(
    fc.constantFrom('a\n', 'a\u009b', state, issuer, `${issuer}/`, '', 'a', 'access_denied', state.slice(1)),
    fc.string({ unit: 'binary', maxLength: 12 }),
  )
  const pair = fc.tuple(name, value)
  // Arbitrary lists are mostly wrong in several respects. These are wrong in one respect or in none.
  const nearlyRight = fc.tuple(value, fc.array(pair, { maxLength: 2 })).chain(([code, more]) => {
    const list: [string, string][] = [['state', state], ['code', code], ...more]
    return fc.shuffledSubarray(list, { minLength: list.length })
  })
  const pairs = fc.oneof(fc.array(pair, { maxLength: 7 }), nearlyRight)
  const valuesOf = (list: [string, string][], wanted: string) =>
    list.filter(([key]) => key === wanted).map(([, held]) => held)

  it('is granted only if state, issuer, and code are all correct', () => {
    fc.assert(
      fc.property(pairs, fc.boolean(), (list, requiresIssuer) => {
        const verdict = judge(encode(list), { requiresIssuer })
        const [states, codes, errors, issuersSent] = ['state', 'code', 'error', 'iss'].map((wanted) =>
          valuesOf(list, wanted),
        ) as [string[], string[], string[], string[]]
        const rightState = states.length === 1 && states[0] === state
        const known = issuersSent.every((sent) => sent === issuer || sent === `${issuer}/`)
        const rightIssuer = known && issuersSent.length <= 1 && (issuersSent.length === 1 || !requiresIssuer)
        const rightCode = codes.length === 1 && codes[0] !== '' && !/\p{Cc}/u.test(codes[0] ?? '')
        const granted = rightState && rightIssuer && rightCode && errors.length === 0
        expect(verdict.kind === 'granted').to.equal(granted)
        if (!rightState) expect(verdict.kind).to.equal('ignored')
        if (verdict.kind === 'denied') expect(rightIssuer && errors.length === 1).to.equal(true)
        if (verdict.kind === 'foreign') expect(rightIssuer || issuersSent.length > 1).to.equal(false)
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is granted with a correct state, issuer, and code among other parameters, in any order', () => {
    const noise = fc.array(
      fc.tuple(
        fc.string({ unit: 'binary' }).filter((key) => !/^(code|state|error|iss)$/.test(key)),
        fc.string({ unit: 'binary' }),
      ),
      { maxLength: 6 },
    )
    const code = fc.string({ minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(
        noise
          .chain((list) =>
            code.map((sent): [string, string][] => [
              ...list,
              ['code', sent],
              ['state', state],
              ['iss', issuer],
            ]),
          )
          .chain((list) => fc.shuffledSubarray(list, { minLength: list.length })),
        (list) => {
          const verdict = judge(encode(list), { requiresIssuer: true })
          if (verdict.kind !== 'granted') throw new Error(JSON.stringify(verdict))
          expect(verdict.parameters.getAll('code')).to.deep.equal(valuesOf(list, 'code'))
        },
      ),
    )
  })

  it('is ignored with any other content, for a reason that quotes nothing of it', () => {
    const bytes = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 60 }).map((some) => Buffer.from(some).toString('latin1')),
      // With lone surrogates, which a string may contain, but no URL.
      fc.array(fc.integer({ min: 0xd700, max: 0xe000 })).map((units) => String.fromCharCode(...units)),
    )
    const reasons = new Set<string>()
    const mark = (text: string) => `Qz${text}zQ`
    fc.assert(
      fc.property(bytes, bytes, bytes, fc.integer({ min: 0, max: 5 }), (method, host, text, form) => {
        const target = [text, `/callback?${text}`, `/callback?code=${text}`, `/callback?code=a&state=${text}`]
        const sent = {
          method: form === 0 ? method : 'GET',
          host: form === 1 ? host : ours.host,
          target: mark(target[form % 4] ?? ''),
        }
        for (const judged of [
          checkCallback(sent, ours),
          checkCallback({ ...sent, target: sent.target.slice(2) }, ours),
          checkPastedUrl(text, ours),
          checkPastedUrl(`http://${ours.host}${sent.target.slice(2)}`, ours),
        ]) {
          if (judged.kind !== 'ignored') throw new Error(judged.kind)
          reasons.add(judged.reason)
        }
        expect(hasState(sent.target, state)).to.equal(false)
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
    // The reasons are a few fixed sentences, however many requests there are.
    expect(reasons.size).to.be.below(8)
  })
})
