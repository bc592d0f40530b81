import fc from 'fast-check'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'

/** Few names, so that emails and ids meet again, also in another case. */
const emails = fc.constantFrom(
  'ada@x',
  'Ada@x',
  'bob@x',
  'BOB@x',
  '\u00e9@x',
  'zoe@x',
  '日本@x',
  '"\\\u2028@x',
)
const ids = fc.constantFrom('usr_1', 'usr_2', 'usr_3', 'usr_4', 'id/5 ✓')
const hash = fc.constantFrom('AAAAAAAAAAA', 'BBBBBBBBBBB', '-_012345678')
const path = fc.constantFrom(
  'name',
  'role',
  'permissions',
  'metadata.company',
  'metadata.__proto__',
  'metadata.a.b',
)

export const stateEntry: fc.Arbitrary<StateEntry> = fc
  .record({
    email: emails,
    id: fc.option(ids, { nil: undefined }),
    creation: fc.constantFrom('unknown' as const, 'nameless' as const),
    hashes: fc.dictionary(path, hash),
    checkedAt: fc.constantFrom(undefined, '2026-01-02T03:04:05.678Z'),
  })
  .map(({ creation, checkedAt, ...entry }) => ({
    ...entry,
    ...(entry.id === undefined && { creation }),
    ...(checkedAt !== undefined && { checkedAt }),
  }))

/** Entries as a state file has them: sorted, and each email and id once. */
export const stateEntries: fc.Arbitrary<StateEntry[]> = fc
  .uniqueArray(
    fc.record({
      email: fc.emailAddress(),
      id: fc.string({ minLength: 1 }),
      hashes: fc.dictionary(path, hash),
    }),
    { selector: ({ email }) => email.toLowerCase() },
  )
  .map((entries) => entries.map((entry, index) => ({ ...entry, id: `${index}:${entry.id}` })))
  .map((entries) => entries.sort((one, other) => (one.email < other.email ? -1 : 1)))
