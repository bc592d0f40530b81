import { expect } from 'chai'
import fc from 'fast-check'
import {
  formatEntry,
  readEntry,
  readFormatted,
  type StateEntry,
} from '../../../src/users/state/state-entry.ts'
import { stateEntry } from './arbitrary-entries.ts'

describe('an entry of a state file', () => {
  const ada: StateEntry = {
    email: 'ada@example.com',
    id: 'usr_1',
    hashes: { name: 'AAAAAAAAAAA', 'metadata.日本': 'BBBBBBBBBBB', role: '-_012345678' },
    checkedAt: '2026-01-02T03:04:05.678Z',
  }

  it('is read without parsing if it is formatted as usual', () => {
    for (const entry of [ada, { ...ada, hashes: {} }, { email: 'ada@example.com', id: '1', hashes: {} }]) {
      const body = formatEntry(entry)
      expect(readFormatted(body)).to.deep.equal({ email: entry.email, id: entry.id, body })
    }
  })

  it('is the same with and without parsing', () => {
    fc.assert(
      fc.property(stateEntry, (entry) => {
        const body = formatEntry(entry)
        const read = readFormatted(body)
        if (read !== undefined) expect(read).to.deep.equal({ email: entry.email, id: entry.id, body })
        expect(readEntry(JSON.parse(body))).to.deep.equal(entry)
      }),
    )
  })

  it('is parsed if it has escapes, other spaces, an unusual field, or an unsorted or repeated hash', () => {
    const hashes = (text: string) => `{"email":"ada@example.com","id":"usr_1","hashes":{${text}}}`
    expect(readFormatted(hashes('"a":"AAAAAAAAAAA","b":"AAAAAAAAAAA"'))).not.to.equal(undefined)
    for (const text of [
      hashes('"b":"AAAAAAAAAAA","a":"AAAAAAAAAAA"'),
      hashes('"a":"AAAAAAAAAAA","a":"AAAAAAAAAAA"'),
      hashes('"a":"AAAAAAAAAAA" ,"b":"AAAAAAAAAAA"'),
      hashes('"a":"AAAAAAAAAAA""b":"AAAAAAAAAAA"'),
      hashes('"a":"AAAAAAAAAAA",'),
      hashes('"a":"AAAAAAAAAA"'),
      hashes('"a":1'),
      `${hashes('')},`,
      '{"email":"a\\u0064a@example.com","id":"usr_1","hashes":{}}',
      '{"email":"","id":"usr_1","hashes":{}}',
      '{"email":"ada@example.com","id":1,"hashes":{}}',
      '{"email":"ada@example.com","creation":"unknown","hashes":{}}',
      '{"email":"ada@example.com","id":"usr_1","hashes":{},"name":"Ada"}',
      '{"email":"ada@example.com","id":"usr_1"}',
    ])
      expect(readFormatted(text), text).to.equal(undefined)
  })
})
