import { expect } from 'chai'
import { bearer } from '../../src/contract/headers.ts'

describe('the Authorization header', () => {
  it('accepts every visible character in a credential', () => {
    for (const key of ['sk-abc', 'YWJj==', 'SK_abc==', 'X7_abc=', 'abc1=d', 'a.b=c', "it's", 'a"b'])
      expect(bearer(key)).to.equal(`Bearer ${key}`)
  })

  for (const [pasted, named] of [
    ['Bearer sk-abc', 'begins with "Bearer "'],
    ['bearer sk-abc', 'begins with "bearer "'],
    ['Authorization: Bearer sk-abc', 'begins with "Authorization: "'],
    ['export CHATCTL_API_KEY=sk-abc', 'begins with a variable'],
    ['API_KEY="sk-abc"', 'begins with a variable'],
    ['"sk-abc"', 'is in quotes'],
    ["'sk-abc'", 'is in quotes'],
  ] as const)
    it(`names what a pasted credential contains beside the key, but not the key: ${pasted}`, () =>
      expect(() => bearer(pasted))
        .to.throw(`The API key or token ${named}`)
        .with.property('message')
        .that.does.not.contain('sk-abc'))
})
