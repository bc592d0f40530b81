import { expect } from 'chai'
import { contradictionsIn } from '../../src/contract/contradictions.ts'
import { ExactNumber } from '../../src/contract/notation/exact-json.ts'

describe('the contradictions between a change and its response', () => {
  const sent = {
    email: 'Ada@example.com',
    name: 'Ada',
    role: 'admin',
    permissions: ['read:chat', 'write:users'],
    metadata: { company: 'Acme', seats: 5, plan: { name: 'pro' }, tags: ['a', 'b'], left: null },
    cors: { allowed_methods: ['GET', 'POST'] },
    rate_limiting: { enabled: true },
  }

  const agreeing: [what: string, response: unknown][] = [
    ['no body', undefined],
    ['a list', [sent]],
    ['other fields only', { ok: true, user: { name: 'Bob' } }],
    ['null for each field', { name: null, role: null, permissions: null, metadata: null, cors: null }],
    ['the same values', sent],
    ['more keys', { ...sent, metadata: { ...sent.metadata, added: 1 }, created_at: 'now' }],
    ['more permissions, in another order', { permissions: ['x:y', 'write:users', 'read:chat'] }],
    ['an email in another case', { email: 'ada@EXAMPLE.com' }],
    ['a number in another notation', { metadata: { seats: new ExactNumber('5.0') } }],
    ['a list in another order', { cors: { allowed_methods: ['POST', 'GET'] } }],
    ['other types than those that were sent', { role: { id: 1 }, permissions: [{ id: 2 }], metadata: 'x' }],
  ]
  for (const [what, response] of agreeing)
    it(`are none if the response has ${what}`, () =>
      expect(contradictionsIn(sent, response)).to.deep.equal([]))

  const contradicting: [path: string, response: unknown, expected: unknown, found: unknown][] = [
    ['name', { name: 'Bob' }, 'Ada', 'Bob'],
    ['email', { email: 'bob@example.com' }, 'Ada@example.com', 'bob@example.com'],
    ['role', { role: 'viewer' }, 'admin', 'viewer'],
    ['permissions', { permissions: [] }, sent.permissions, []],
    ['permissions', { permissions: ['read:chat'] }, sent.permissions, ['read:chat']],
    ['metadata.company', { metadata: { company: 'Other' } }, 'Acme', 'Other'],
    ['metadata.plan.name', { metadata: { plan: { name: 'free' } } }, 'pro', 'free'],
    ['metadata.tags', { metadata: { tags: ['a', 'b', 'c'] } }, ['a', 'b'], ['a', 'b', 'c']],
    ['metadata.left', { metadata: { left: 'kept' } }, null, 'kept'],
    ['cors.allowed_methods', { cors: { allowed_methods: ['GET'] } }, ['GET', 'POST'], ['GET']],
    ['rate_limiting.enabled', { rate_limiting: { enabled: false } }, true, false],
  ]
  for (const [path, response, expected, found] of contradicting)
    it(`are found in ${JSON.stringify(response)}`, () =>
      expect(contradictionsIn(sent, response)).to.deep.equal([{ path, expected, found }]))
})
