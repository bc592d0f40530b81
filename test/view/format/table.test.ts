import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { marked } from 'marked'
import stringWidth from 'string-width'
import { showControls } from '../../../src/terminal/strip-controls.ts'
import { renderCsv, renderTsv } from '../../../src/view/format/delimited.ts'
import { markdownTable } from '../../../src/view/format/markdown-table.ts'
import { renderTable } from '../../../src/view/format/table.ts'
import type { View } from '../../../src/view/format/view.ts'
import { wrapWords } from '../../../src/view/format/wrap-words.ts'
import { historyView } from '../../../src/view/history.ts'
import { keyView } from '../../../src/view/service.ts'
import { settingsView } from '../../../src/view/settings.ts'
import { userView } from '../../../src/view/users.ts'
import { anyText } from '../../contract/any-json.ts'
import { codePoint } from '../../support/code-point.ts'

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

/** The cells that a Markdown reader shows, without their HTML. Fails if there is HTML other than of tables and code. */
function shownCells(markdown: string): string[][] {
  const html = marked.parse(markdown, { async: false })
  expect(html.match(/<table>/g)).to.have.length(1)
  const [, body = ''] = /^<table>(.*)<\/table>\n$/s.exec(html) ?? []
  return [...body.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd]>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => {
      const [, code] = /^<code>([^<]*)<\/code>$/.exec(cell) ?? []
      const text = code ?? cell
      expect(text).not.to.match(/[<>]/)
      return decoded(text)
    }),
  )
}

const names: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' }

function decoded(html: string): string {
  return html.replace(/&(?:#(\d+)|(\w+));/g, (whole, number, name) =>
    number === undefined ? (names[name] ?? whole) : String.fromCodePoint(Number(number)),
  )
}

const anyCell = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('|', '\\', '`', '<', '&', '@', '#', '\n', '\r', ' ', '*', '_', 'a', '\u001b'),
  }),
)

describe('a Markdown table', () => {
  it('has a heading, a delimiter row, and each value as code', () =>
    expect(
      markdownTable(
        ['Key', 'Before'],
        [
          ['theme.mode', '"light"'],
          ['app_name', ''],
        ],
      ),
    ).to.equal('| Key | Before |\n| --- | --- |\n| `theme.mode` | `"light"` |\n| `app_name` |  |\n'))

  it('shows every value unchanged as code on one line, whatever it contains', () => {
    const anyTable = fc
      .integer({ min: 1, max: 4 })
      .chain((width) => fc.array(fc.array(anyCell, { minLength: width, maxLength: width }), { minLength: 1 }))
    fc.assert(
      fc.property(anyTable, (rows) => {
        const [headings = [], ...body] = rows
        const expected = rows.map((row) => row.map((cell) => showControls(cell).toWellFormed()))
        expect(shownCells(markdownTable(headings, body))).to.deep.equal(expected)
      }),
      { numRuns: 4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })
})

const anyGrid = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    header: fc.array(fc.constantFrom('id', 'name', 'metadata.a'), { minLength: width, maxLength: width }),
    rows: fc.array(fc.array(anyText, { minLength: width, maxLength: width }), { maxLength: 4 }),
  }),
)

const unescaped: Record<string, string> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' }

describe('delimited output', () => {
  it('is CSV whose rows are the same for readers that end lines at LF, CR LF, or CR', () =>
    fc.assert(
      fc.asyncProperty(anyGrid, async (grid) => {
        const records = parse(await renderCsv(grid), { record_delimiter: ['\n', '\r\n', '\r'] })
        expect(records).to.deep.equal([grid.header, ...grid.rows])
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))

  it('is CSV without blank lines, which many readers skip', async () => {
    expect(await renderCsv({ header: ['name'], rows: [[''], ['a']] })).to.equal('name\n""\na\n')
    expect(await renderCsv({ header: ['id', 'name'], rows: [['', '']] })).to.equal('id,name\n,\n')
  })

  it('is TSV with one line per row and escapes in its cells', () =>
    fc.assert(
      fc.property(anyGrid, (grid) => {
        const lines = parse(renderTsv(grid), {
          delimiter: '\t',
          quote: false,
          record_delimiter: '\n',
          relax_column_count: true,
        }) as string[][]
        const cells = lines.map((line) =>
          line.map((cell) => cell.replace(/\\[\\tnr]/g, (pair) => unescaped[pair] ?? pair)),
        )
        expect(cells).to.deep.equal(grid.rows)
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))
})

describe('words wrapped at the width of a terminal', () => {
  it('are broken between words, at 40 columns', () => {
    const text = 'Compared with the configuration last sent from this machine: no differences'
    expect(wrapWords(text, 40).split('\n')).to.deep.equal([
      'Compared with the configuration last',
      'sent from this machine: no differences',
    ])
  })

  it('keep a command on one line, below the words that lead to it', () => {
    const text = 'Check the current value with: chatctl settings get app_name --profile work'
    expect(wrapWords(text, 40).split('\n')).to.deep.equal([
      'Check the current value with:',
      '  chatctl settings get app_name --profile work',
    ])
    const shown = wrapWords('Allow more time for one attempt with: --timeout 2m', 40).split('\n')
    expect(shown).to.deep.equal(['Allow more time for one attempt with:', '  --timeout 2m'])
    const two = 'For one message: chatctl chat send Hello. To begin a session: chatctl chat -- Hello'
    expect(wrapWords(two, 32).split('\n')).to.deep.equal([
      'For one message:',
      '  chatctl chat send Hello',
      'To begin a session:',
      '  chatctl chat -- Hello',
    ])
    const seen = wrapWords('Error: --fork requires --resume or --continue', 40).split('\n')
    expect(seen).to.deep.equal(['Error: --fork requires --resume or', '--continue'])
    const listed = wrapWords('Error: chatctl chat send is refused, because it must be', 40).split('\n')
    expect(listed).to.deep.equal(['Error: chatctl chat send is refused,', 'because it must be'])
    const command = '  chatctl users import users.csv --on-unknown retry --line 17'
    expect(wrapWords(command, 40)).to.equal(command)
  })

  it('keep a word that is longer than a line, and lines that fit', () => {
    const path = `/home/ada/${'a'.repeat(50)}.csv`
    const shown = wrapWords(`Cannot read ${path}\n\n  two  spaces`, 40)
    expect(shown).to.equal(`Cannot read\n${path}\n\n  two  spaces`)
    expect(wrapWords('one two three', Infinity)).to.equal('one two three')
  })
})
