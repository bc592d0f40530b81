import { expect } from 'chai'
import {
  type CallbackExpectation,
  type CallbackRequest,
  type CallbackResult,
  checkCallback,
  checkPastedUrl,
} from '../../src/auth/check-callback.ts'
import { encode, issuer, judge, ours, state } from './expected-callback.ts'

const request = (query: string): CallbackRequest => ({
  method: 'GET',
  host: ours.host,
  target: `/callback?${query}`,
})
function expectIgnored(verdict: CallbackResult, status: number, reason: RegExp | string): void {
  if (verdict.kind !== 'ignored') throw new Error(`it was ${verdict.kind}`)
  expect(verdict.status).to.equal(status)
  if (typeof reason === 'string') expect(verdict.reason).to.equal(reason)
  else expect(verdict.reason).to.match(reason)
}

describe('a callback of a sign-in', () => {
  it('is granted with the expected state and one code', () => {
    const verdict = judge(`code=a%2Fb+c&state=${state}`)
    if (verdict.kind !== 'granted') throw new Error(verdict.kind)
    expect(verdict.parameters.get('code')).to.equal('a/b c')
  })

  it('is denied if it has an error, also if it has a code', () => {
    expect(judge(`error=access_denied&state=${state}`)).to.deep.equal({
      kind: 'denied',
      error: 'access_denied',
      description: undefined,
    })
    const both = judge(`code=x&error=server_error&error_description=Not+today&state=${state}`)
    expect(both).to.deep.equal({ kind: 'denied', error: 'server_error', description: 'Not today' })
  })

  it('reports the text of the server shortened and without control characters', () => {
    const description = `\u001b[2Jone\u0000\ttwo\r\n\u202ethree\u0085 ${'y'.repeat(1000)}`
    const verdict = judge(
      encode([
        ['error', '\u0007bad'],
        ['error_description', description],
        ['state', state],
      ]),
    )
    if (verdict.kind !== 'denied') throw new Error(verdict.kind)
    expect(verdict.error).to.equal('bad')
    expect(verdict.description).to.match(/^\[2Jone two three y+$/)
    expect(verdict.description).to.have.length(500)
    const emoji = judge(
      encode([
        ['error', 'x'],
        ['error_description', `a${'😀'.repeat(400)}`],
        ['state', state],
      ]),
    )
    expect(emoji.kind === 'denied' && emoji.description?.isWellFormed()).to.equal(true)
  })

  const ignoredQueries: [string, string, RegExp][] = [
    ['no code', `state=${state}`, /without a code/],
    ['an empty code', `code=&state=${state}`, /without a code/],
    ['a code twice', `code=a&code=a&state=${state}`, /repeated parameter/],
    ['a code and an empty one', `code=a&code=&state=${state}`, /repeated parameter/],
    ['an error twice', `error=a&error=b&state=${state}`, /repeated parameter/],
    ['no state', 'code=a', /state/],
    ['an empty state', 'code=a&state=', /state/],
    ['our state twice', `code=a&state=${state}&state=${state}`, /state/],
    ['a part of our state', `code=a&state=${state.slice(0, -1)}`, /state/],
    ['more than our state', `code=a&state=${state}x`, /state/],
    ['our state in lower case', `code=a&state=${state.toLowerCase()}`, /state/],
    ['a parameter name in another case', `code=a&State=${state}`, /state/],
    ['an issuer twice', `code=a&state=${state}&iss=${issuer}&iss=${issuer}`, /repeated parameter/],
    ['no parameters', '', /state/],
  ]
  for (const [what, query, reason] of ignoredQueries)
    it(`is ignored with ${what}`, () => expectIgnored(judge(query), 400, reason))

  it('never matches an empty state, even if the expected state is empty', () =>
    expectIgnored(judge('code=a&state=', { state: '' }), 400, /state/))

  const issuers: [string, string | undefined, Partial<CallbackExpectation>, CallbackResult['kind']][] = [
    ['the expected issuer', issuer, {}, 'granted'],
    ['the expected issuer and a trailing slash', `${issuer}/`, {}, 'granted'],
    ['the expected issuer without its trailing slash', issuer, { issuer: `${issuer}/` }, 'granted'],
    ['the expected issuer and two trailing slashes', `${issuer}//`, {}, 'foreign'],
    ['the expected issuer in upper case', issuer.toUpperCase(), {}, 'foreign'],
    ['another issuer', 'https://evil.example', {}, 'foreign'],
    ['another issuer that begins with the expected one', `${issuer}.evil.example`, {}, 'foreign'],
    ['an empty issuer', '', {}, 'foreign'],
    ['no issuer', undefined, {}, 'granted'],
    ['no issuer if one is required', undefined, { requiresIssuer: true }, 'foreign'],
    ['the expected issuer if one is required', issuer, { requiresIssuer: true }, 'granted'],
    ['any issuer if none is known', 'https://any.example', { issuer: undefined }, 'granted'],
    ['no issuer if none is known', undefined, { issuer: undefined }, 'granted'],
    [
      'an empty issuer if one is required and none is known',
      '',
      { issuer: undefined, requiresIssuer: true },
      'foreign',
    ],
  ]
  for (const [what, iss, expectation, kind] of issuers)
    it(`is ${kind} with ${what}`, () => {
      const named = iss === undefined ? '' : `&iss=${encodeURIComponent(iss)}`
      expect(judge(`code=a&state=${state}${named}`, expectation).kind).to.equal(kind)
    })

  it('is checked for its issuer before its error and its code', () => {
    const foreign = 'iss=https://evil.example'
    expect(judge(`error=access_denied&state=${state}&${foreign}`).kind).to.equal('foreign')
    expect(judge(`state=${state}&${foreign}`).kind).to.equal('foreign')
    expect(judge(`code=a&state=wrong&${foreign}`).kind).to.equal('ignored')
  })

  it('is checked for host, method, path, state, issuer, and result, in this order', () => {
    const faults: [(request: CallbackRequest) => CallbackRequest, number, RegExp][] = [
      [(right) => ({ ...right, host: 'localhost:53123' }), 400, /host/],
      [(right) => ({ ...right, method: 'POST' }), 405, /GET/],
      [(right) => ({ ...right, target: right.target.replace('/callback', '/else') }), 404, /path/],
      [(right) => ({ ...right, target: right.target.replace('state=k', 'state=q') }), 400, /state/],
      [(right) => ({ ...right, target: `${right.target}&iss=a&iss=b` }), 400, /repeated/],
      [(right) => ({ ...right, target: right.target.replace('code=', 'cod=') }), 400, /code/],
    ]
    for (const [first, [, status, reason]] of faults.entries()) {
      const wrong = faults
        .slice(first)
        .reduce((sent, [spoil]) => spoil(sent), request(`code=a&state=${state}`))
      expectIgnored(checkCallback(wrong, ours), status, reason)
    }
  })

  it('is ignored unless host, method, and path match exactly', () => {
    const right = request(`code=a&state=${state}`)
    for (const host of [
      undefined,
      '',
      ...'127.0.0.1 127.0.0.1:53124 localhost:53123 127.0.0.1:53123.evil'.split(' '),
    ])
      expectIgnored(checkCallback({ ...right, host }, ours), 400, /host/)
    for (const method of ['HEAD', 'POST', 'get', 'OPTIONS', ''])
      expectIgnored(checkCallback({ ...right, method }, ours), 405, /GET/)
    for (const path of ['/', '', '/callback/', '/Callback', '//callback', '/%63allback', '/x/../callback'])
      expectIgnored(checkCallback({ ...right, target: `${path}?code=a&state=${state}` }, ours), 404, /path/)
  })
})

describe('a pasted callback URL', () => {
  const right = `http://127.0.0.1:53123/callback?code=a&state=${state}`

  it('is judged like a callback, and may have white space around it and a fragment', () => {
    for (const text of [right, `  ${right}\r\n`, `${right}#_=_`])
      expect(checkPastedUrl(text, ours).kind, text).to.equal('granted')
    const six = { ...ours, host: '[::1]:53123' }
    expect(checkPastedUrl(right.replace('127.0.0.1', '[::1]'), six).kind).to.equal('granted')
    expect(checkPastedUrl(right.replace('code=a', 'error=no'), ours).kind).to.equal('denied')
    expect(checkPastedUrl(`${right}&iss=x:y`, ours).kind).to.equal('foreign')
  })

  it('is ignored if it is not a full URL, or does not match', () => {
    for (const text of ['', ' ', 'a', `/callback?code=a&state=${state}`, `?code=a&state=${state}`, `code=a`])
      expectIgnored(checkPastedUrl(text, ours), 400, /not a complete URL/)
    for (const host of 'localhost:53123 127.0.0.1 127.0.0.1:1 127.0.0.1:53123.evil.example [::1]:53123'.split(
      ' ',
    ))
      expectIgnored(
        checkPastedUrl(right.replace('127.0.0.1:53123', host), ours),
        400,
        /host|not a complete URL/,
      )
    expectIgnored(checkPastedUrl(right.replace('http:', 'https:'), ours), 400, /host/)
    expectIgnored(checkPastedUrl(right.replace('http:', 'javascript:'), ours), 400, /host/)
    expectIgnored(checkPastedUrl(right.replace('callback', 'else'), ours), 404, /path/)
    expectIgnored(checkPastedUrl(right.replace('state=', 'state=x'), ours), 400, /state/)
  })
})
