import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { lexer, marked, type Tokens } from 'marked'
import stringWidth from 'string-width'
import { showControls } from '../../../src/terminal/strip-controls.ts'
import { renderCsv, renderTsv } from '../../../src/view/format/delimited.ts'
import { markdownTable } from '../../../src/view/format/markdown-table.ts'
import { renderTable } from '../../../src/view/format/table.ts'
import type { Span, View } from '../../../src/view/format/view.ts'
import { wrapWords } from '../../../src/view/format/wrap-words.ts'
import { historyView } from '../../../src/view/history.ts'
import { keyView } from '../../../src/view/service.ts'
import { differenceView, settingsView } from '../../../src/view/settings.ts'
import {
  type PrintedDifferences,
  type PrintedUser,
  userDifferenceView,
} from '../../../src/view/user-differences.ts'
import { userView } from '../../../src/view/users.ts'
import { anyText } from '../../contract/any-json.ts'
import { codePoint } from '../../support/code-point.ts'
import { noUsers } from '../../users/any-users.ts'

const key = {
  ...{ id: 'key_01m805esanbm9jx5r0q2cgkxp4', name: 'a bot for the pipeline', tier: 'pro', limit: 1000 },
  ...{ created_at: '2026-01-02T03:04:05.678Z', last_used_at: null, revoked_at: null },
  ...{ user_email: 'ada@example.com', permissions: ['read:users', 'write:users'] },
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
    const settings = { theme: 'dark', deep: { at: [1, 2] } }
    const text = table(userView, { id: 'u1', email: 'a@b.co', metadata: {}, settings })
    expect(text.split('\n')).to.deep.equal([
      'KEY               VALUE',
      'id                u1',
      'email             a@b.co',
      'settings.theme    dark',
      'settings.deep.at  1, 2',
      '',
    ])
  })

  it('wraps prose between words', () => {
    const message = { id: 'm1', role: 'user', content: 'one two three four five six seven eight' }
    const text = 'ROLE  CONTENT\nuser  one two three four five six seven\n      eight\n'
    expect(table(historyView, { messages: [message] }, 40)).to.equal(text)
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
    for (const width of [20, 23, 26])
      for (const line of table(userView, user, width).split('\n')) expect(line.length).to.be.at.most(width)
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
  it('has a heading, a delimiter row, and each value as code', () => {
    const shown = markdownTable(['Key', 'Before'], Object.entries({ 'theme.mode': '"light"', app_name: '' }))
    expect(shown).to.equal(
      '| Key | Before |\n| --- | --- |\n| `theme.mode` | `"light"` |\n| `app_name` |  |\n',
    )
  })

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
  it('are broken between words, but not in a command, which is below the words that lead to it', () => {
    const two = 'For one message: chatctl chat send Hello. To begin a session: chatctl chat -- Hello'
    const command = '  chatctl users import users.csv --on-unknown retry --line 17'
    for (const [width, text, shown] of [
      [
        40,
        'Compared with what was last sent from this machine',
        'Compared with what was last sent from\nthis machine',
      ],
      [
        40,
        'Check the current value with: chatctl settings get app_name --profile work',
        'Check the current value with:\n  chatctl settings get app_name --profile work',
      ],
      [
        40,
        'Allow more time for one attempt with: --timeout 2m',
        'Allow more time for one attempt with:\n  --timeout 2m',
      ],
      [32, two, two.replaceAll(': ', ':\n  ').replace('. ', '\n')],
      [40, 'Error: --fork requires --resume or --continue', 'Error: --fork requires --resume or\n--continue'],
      [
        40,
        'Error: chatctl chat send is refused, because it must be',
        'Error: chatctl chat send is refused,\nbecause it must be',
      ],
      [40, command, command],
    ] as const)
      expect(wrapWords(text, width)).to.equal(shown)
  })

  it('keep a word that is longer than a line, and lines that fit', () => {
    const path = `/home/ada/${'a'.repeat(50)}.csv`
    const shown = wrapWords(`Cannot read ${path}\n\n  two  spaces`, 40)
    expect(shown).to.equal(`Cannot read\n${path}\n\n  two  spaces`)
    expect(wrapWords('one two three', Infinity)).to.equal('one two three')
  })
})

const textOf = (spans: unknown): string => ((spans ?? []) as readonly Span[]).map(({ text }) => text).join('')

describe('the differences of settings', () => {
  const changes = [
    { path: 'theme.primary_color', from: '#000000', to: '#3366FF' },
    { path: 'app_name', from: null, to: 'A name with quite a few words in it' },
    { path: 'api.version', from: 'v1', to: 'v2', compared_with: 'last_sent' },
  ]
  const view = differenceView({ managed: 3, sentAt: '2026-01-02T03:04:05Z' })
  const textAt = (width: number): string => textOf(view.text?.({ changes }, width))

  it('have both values on the line of the key, if the terminal is wide enough', () =>
    expect(textAt(Infinity)).to.equal(
      [
        '  theme.primary_color  "#000000" → "#3366FF"',
        '  app_name             none      → "A name with quite a few words in it"',
        '',
        'API configuration, compared with what was last sent from here (2026-01-02T03:04:05Z)',
        '  api.version  "v1" → "v2"',
        '',
        '3 of the 3 keys in the file differ.\n',
      ].join('\n'),
    ))

  it('label each value on a separate line as old or new, without a broken word, at 40 columns', () =>
    expect(textAt(40)).to.equal(
      [
        '  theme.primary_color',
        '    old "#000000"',
        '    new "#3366FF"',
        '  app_name',
        '    old none',
        '    new "A name with quite a few words',
        '        in it"',
        '',
        'API configuration, compared with what',
        'was last sent from here',
        '(2026-01-02T03:04:05Z)',
        '  api.version  "v1" → "v2"',
        '',
        '3 of the 3 keys in the file differ.\n',
      ].join('\n'),
    ))

  it('are one Markdown table with a row for each change, whatever the values, the plan, and the service are', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('|', '`', '\\|', '\n\n| a |\n|---|\n', '<!--', '# x'))
    const change = fc.record({ path: text, from: fc.oneof(text, fc.jsonValue()), to: fc.jsonValue() })
    const about = { created_at: '2026-01-02T03:04:05Z', tool: '1.2.3', now: 0 }
    const record = text.map((service) => ({ ...about, service }))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1 }), record, (some, record) => {
        const sent = some.map((one, index) => (index > 0 ? one : { ...one, compared_with: 'last_sent' }))
        const shown =
          differenceView({ managed: 9, sentAt: about.created_at, record }).markdown?.({ changes: sent }) ?? ''
        const tokens = lexer(shown).filter(({ type }) => type !== 'space')
        expect(tokens.map(({ type }) => type)).to.deep.equal(['heading', 'table', 'paragraph', 'paragraph'])
        const { rows } = tokens[1] as Tokens.Table
        expect(rows.map((row) => row.length)).to.deep.equal(some.map(() => 3))
        const html = JSON.stringify(tokens).match(/"type":"html","raw":"(?:[^"\\]|\\.)*"/g) ?? []
        for (const tag of html) expect(tag).to.match(/"<\/?code>"$/)
      }),
      { numRuns: 2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })
})

const users: PrintedUser[] = [
  {
    ...{ email: 'ada@example.com', id: null, action: 'create' },
    changes: Object.entries({ name: 'Ada', role: 'admin' }).map(([path, to]) => ({ path, from: null, to })),
  },
  {
    ...{ email: 'bob@example.com', id: 'usr_1', action: 'change' },
    changes: [{ path: 'name', from: 'Bob', to: 'Robert' }],
  },
  {
    ...{ email: 'eve@example.com', id: 'usr_2', action: 'change' },
    changes: [
      { path: 'metadata.team', from: 'a team with quite a few words', to: null, drifted: true },
      { path: 'role', from: null, to: 'admin', compared_with: 'last_sent' },
      { path: 'permissions', from: null, to: ['read:chat'], compared_with: 'unknown' },
    ],
  },
  { email: 'kim@example.com', id: 'usr_3', action: 'missing', changes: [] },
  { email: 'max@example.com', id: null, action: 'unknown', changes: [] },
  {
    ...{ email: 'zoe@example.com', id: 'usr_4', action: 'failed', changes: [] },
    error: { code: 'server_error', message: 'The service failed (500)' },
  },
]

const differences: PrintedDifferences = {
  service: 'https://chat.example',
  state: 'users.state.json',
  users,
  unmanaged: [{ email: 'old@example.com', id: 'usr_5' }],
  counts: {
    ...{ ...noUsers, create: 1, change: 2, drifted: 1, missing: 1, unknown: 1, failed: 1 },
    ...{ unchanged: 12_345, unmanaged: 1 },
  },
}
const same = { ...differences, users: [], unmanaged: [] }

const textAt = (width: number, body = differences): string => textOf(userDifferenceView.text?.(body, width))

describe('the differences of users', () => {
  it('have one line for each field, if the terminal is wide enough', () =>
    expect(textAt(120)).to.equal(
      [
        '+ create ada@example.com  name "Ada", role "admin"',
        '~ bob@example.com',
        '    name  "Bob" → "Robert"',
        '! eve@example.com',
        '    metadata.team  "a team with quite a few words" → none (drifted)',
        '    role           not as last sent   → "admin"',
        '    permissions    last value unknown → ["read:chat"]',
        '! kim@example.com missing: the service has no user with the ID usr_3',
        '? max@example.com unknown: it may or may not exist',
        '! zoe@example.com failed: The service failed (500)',
        '- old@example.com unmanaged: in the state file, but not in the files',
        '',
        '1 to create, 2 to change (1 drifted), 1 missing, 1 unknown, 1 failed, 12,345 unchanged, 1 unmanaged.',
        'Drifted: someone else has changed a value since chatctl sent it.',
        'Unmanaged users remain: the service offers no way to delete a user.\n',
      ].join('\n'),
    ))

  it('have the last lines wrapped at 80 columns', () => {
    const lines = textAt(80).split('\n')
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(80)
    expect(lines.slice(12, 14)).to.deep.equal([
      '1 to create, 2 to change (1 drifted), 1 missing, 1 unknown, 1 failed, 12,345',
      'unchanged, 1 unmanaged.',
    ])
  })

  it('have both values below a field at 40 columns', () =>
    expect(textAt(40).split('\n').slice(0, 13)).to.deep.equal([
      '+ create ada@example.com  name "Ada",',
      '    role "admin"',
      '~ bob@example.com',
      '    name  "Bob" → "Robert"',
      '! eve@example.com',
      '    metadata.team (drifted)',
      '      old "a team with quite a few',
      '          words"',
      '      new none',
      '    role',
      '      old not as last sent',
      '      new "admin"',
      '    permissions',
    ]))

  it('are one sentence if nothing differs', () => {
    const two = { ...same, counts: { ...noUsers, unchanged: 2 } }
    expect(textAt(80, two)).to.equal('No changes: 2 users as in the files.\n')
    expect(userDifferenceView.markdown?.(two)).to.equal('No changes: 2 users as in the files.\n')
  })

  it('never claim that a user who was not read is unchanged', () => {
    const unread = { ...same, counts: { ...noUsers, unchanged: 1, unread: 2 } }
    expect(textAt(80, unread)).to.equal('No changes known: 1 unchanged, 2 not read.\n')
  })

  it('are a table in Markdown, with the counts below it', () =>
    expect(userDifferenceView.markdown?.(differences).split('\n').slice(2, 9)).to.deep.equal([
      '| `ada@example.com` | `create` | `name` |  | `"Ada"` |',
      '| `ada@example.com` | `create` | `role` |  | `"admin"` |',
      '| `bob@example.com` | `change` | `name` | `"Bob"` | `"Robert"` |',
      '| `eve@example.com` | `change, drifted` | `metadata.team` | `"a team with quite a few words"` | `none` |',
      '| `eve@example.com` | `change` | `role` | `not as last sent` | `"admin"` |',
      '| `eve@example.com` | `change` | `permissions` | `last value unknown` | `["read:chat"]` |',
      '| `kim@example.com` | `missing` |  |  |  |',
    ]))

  it('can be written for 5,000 changes without a line that is too wide', () => {
    const many = Array.from({ length: 5000 }, (_, index) => ({
      ...{ email: `user${index}@example.com`, id: `usr_${index}`, action: 'change' as const },
      changes: [{ path: 'name', from: 'Old', to: `New ${index}` }],
    }))
    const lines = textAt(60, { ...same, users: many, counts: { ...noUsers, change: 5000 } }).split('\n')
    expect(lines).to.have.length(10_003)
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(60)
  })
})
