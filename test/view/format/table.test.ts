import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { renderTable } from '../../../src/view/format/table.ts'
import type { View } from '../../../src/view/format/view.ts'
import { historyView } from '../../../src/view/history.ts'
import { keyView } from '../../../src/view/service.ts'
import { settingsView } from '../../../src/view/settings.ts'
import { userView } from '../../../src/view/users.ts'

const key = {
  id: 'key_01m805esanbm9jx5r0q2cgkxp4',
  name: 'a bot for the pipeline',
  tier: 'pro',
  limit: 1000,
  created_at: '2026-01-02T03:04:05.678Z',
  last_used_at: null,
  revoked_at: null,
  user_email: 'ada@example.com',
  permissions: ['read:users', 'write:users'],
  expires_at: '2027-01-02T03:04:05.678Z',
}

function table(view: View, body: unknown, width = 100, fields?: string[]): string {
  return renderTable(view, body, { fields, width, bold: asChalk })
}

/** Replaces chalk.bold, which also converts its arguments to text. */
const asChalk = (...words: unknown[]): string => words.join(' ')

describe('a table', () => {
  let zone: string | undefined
  before(() => {
    zone = process.env['TZ']
    process.env['TZ'] = 'Asia/Tokyo'
  })
  after(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })

  it('with several rows has local times, lists without brackets, and no empty column', () =>
    expect(table(keyView, [key, { ...key, id: 'key_2', name: 'me', permissions: null }], 140)).to.equal(
      [
        'ID                              NAME                    TIER  LIMIT  USER_EMAIL       PERMISSIONS              EXPIRES_AT',
        'key_01m805esanbm9jx5r0q2cgkxp4  a bot for the pipeline  pro   1000   ada@example.com  read:users, write:users  2027-01-02 12:04',
        'key_2                           me                      pro   1000   ada@example.com                           2027-01-02 12:04',
        '',
      ].join('\n'),
    ))

  it('has an empty column if --fields names it', () =>
    expect(table(keyView, [key], 100, ['name', 'revoked_at'])).to.match(/^NAME +REVOKED_AT\n/))

  it('shows each row as a block of lines if words would be broken in columns', () =>
    expect(table(keyView, [key, { id: 'key_2', name: 'me' }], 60)).to.equal(
      [
        'id           key_01m805esanbm9jx5r0q2cgkxp4',
        'name         a bot for the pipeline',
        'tier         pro',
        'limit        1000',
        'user_email   ada@example.com',
        'permissions  read:users, write:users',
        'expires_at   2027-01-02 12:04',
        '',
        'id    key_2',
        'name  me',
        '',
      ].join('\n'),
    ))

  it('with one record has a line for each value, including nested values, and none for empty values', () => {
    const user = {
      id: 'u1',
      email: 'a@b.co',
      metadata: {},
      settings: { theme: 'dark', deep: { at: [1, 2] } },
    }
    expect(table(userView, user)).to.equal(
      [
        'KEY               VALUE',
        'id                u1',
        'email             a@b.co',
        'settings.theme    dark',
        'settings.deep.at  1, 2',
        '',
      ].join('\n'),
    )
  })

  it('wraps prose between words', () => {
    const message = { id: 'm1', role: 'user', content: 'one two three four five six seven eight' }
    expect(table(historyView, { messages: [message] }, 40)).to.equal(
      ['ROLE  CONTENT', 'user  one two three four five six seven', '      eight', ''].join('\n'),
    )
  })

  it('with one record shows each value below its name if IDs would be broken', () => {
    const user = { id: 'usr_01m805dmtfbt5jbmyq0ea1e7fc', settings: { notifications_enabled: true } }
    const found = table(userView, user, 40, ['id', 'settings'])
    expect(found).to.equal('id\n  usr_01m805dmtfbt5jbmyq0ea1e7fc\nsettings.notifications_enabled\n  true\n')
  })

  it('is empty without rows', () => expect(table(keyView, [])).to.equal(''))

  it('is never wider than the terminal, loses no letter, and contains no control characters', () => {
    const cell = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'Z', '-', ' ', '\n', 'é', '漢', '👍'), maxLength: 80 }),
      fc.lorem({ maxCount: 20 }),
      fc.constantFrom('\u001b[2J', 'a\tb', 'https://example.com/a/very/long/address?with=a&query=too'),
    )
    const body = fc.array(fc.record({ id: cell, name: cell, tier: cell, user_email: cell }), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(body, fc.integer({ min: 30, max: 200 }), (rows, width) => {
        const text = table(keyView, rows, width)
        for (const line of text.split('\n')) expect(stringWidth(line)).to.be.at.most(width)
        expect(stripVTControlCharacters(text)).to.equal(text)
        const shown = new Set(text)
        const sent = rows.flatMap((row) => Object.values(row)).join('')
        expect([...shown]).to.include.members(sent.match(/[a-z]/g) ?? [])
      }),
    )
  })

  it('with one record fits into 20 columns', () => {
    const user = { id: 'u1', email: 'ada.lovelace@example.com', settings: { theme: 'dark' } }
    for (const width of [20, 23, 26]) {
      const text = table(userView, user, width)
      for (const line of text.split('\n')) expect(line.length, text).to.be.at.most(width)
    }
  })

  // An algorithm that is cubic in the number of lines would exceed the timeout of the test.
  it('wraps a text as long as a book in a short time', () => {
    const message = { id: 'm1', role: 'assistant', content: 'word '.repeat(20_000) }
    expect(table(historyView, { messages: [message] }, 80).match(/word/g)).to.have.length(20_000)
  })

  it('shows keys that are longer than the width', () => {
    const text = table(settingsView, { [`x_${'long'.repeat(20)}`]: { inner: 'value of it' } }, 40)
    for (const line of text.split('\n')) expect(line.length).to.be.at.most(40)
    expect(text).to.contain('value of')
  })
})
