import { expect } from 'chai'
import fc from 'fast-check'
import { lexer, type Tokens } from 'marked'
import type { Span } from '../../src/view/format/view.ts'
import { differenceView } from '../../src/view/settings.ts'
import {
  type PrintedDifferences,
  type PrintedUser,
  userDifferenceView,
} from '../../src/view/user-differences.ts'

describe('the differences of settings', () => {
  const changes = [
    { path: 'theme.primary_color', from: '#000000', to: '#3366FF' },
    { path: 'app_name', from: null, to: 'A name with quite a few words in it' },
    { path: 'api.version', from: 'v1', to: 'v2', compared_with: 'last_sent' },
  ]
  const view = differenceView({ managed: 3, sentAt: '2026-01-02T03:04:05Z' })
  const textAt = (width: number): string =>
    ((view.text?.({ changes }, width) ?? []) as readonly Span[]).map(({ text }) => text).join('')

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

const none = {
  create: 0,
  adopt: 0,
  change: 0,
  unchanged: 0,
  drifted: 0,
  missing: 0,
  unknown: 0,
  failed: 0,
  unread: 0,
  unmanaged: 0,
}

const users: PrintedUser[] = [
  {
    email: 'ada@example.com',
    id: null,
    action: 'create',
    changes: [
      { path: 'name', from: null, to: 'Ada' },
      { path: 'role', from: null, to: 'admin' },
    ],
  },
  {
    email: 'bob@example.com',
    id: 'usr_1',
    action: 'change',
    changes: [{ path: 'name', from: 'Bob', to: 'Robert' }],
  },
  {
    email: 'eve@example.com',
    id: 'usr_2',
    action: 'change',
    changes: [
      { path: 'metadata.team', from: 'a team with quite a few words', to: null, drifted: true },
      { path: 'role', from: null, to: 'admin', compared_with: 'last_sent' },
      { path: 'permissions', from: null, to: ['read:chat'], compared_with: 'unknown' },
    ],
  },
  { email: 'kim@example.com', id: 'usr_3', action: 'missing', changes: [] },
  { email: 'max@example.com', id: null, action: 'unknown', changes: [] },
  {
    email: 'zoe@example.com',
    id: 'usr_4',
    action: 'failed',
    changes: [],
    error: { code: 'server_error', message: 'The service failed (500)' },
  },
]

const differences: PrintedDifferences = {
  service: 'https://chat.example',
  state: 'users.state.json',
  users,
  unmanaged: [{ email: 'old@example.com', id: 'usr_5' }],
  counts: {
    ...none,
    create: 1,
    change: 2,
    drifted: 1,
    missing: 1,
    unknown: 1,
    failed: 1,
    unchanged: 12_345,
    unmanaged: 1,
  },
}

const textAt = (width: number, body = differences): string =>
  ((userDifferenceView.text?.(body, width) ?? []) as readonly Span[]).map(({ text }) => text).join('')

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
    const same = { ...differences, users: [], unmanaged: [], counts: { ...none, unchanged: 2 } }
    expect(textAt(80, same)).to.equal('No changes: 2 users as in the files.\n')
    expect(userDifferenceView.markdown?.(same)).to.equal('No changes: 2 users as in the files.\n')
  })

  it('never claim that a user who was not read is unchanged', () => {
    const unread = { ...differences, users: [], unmanaged: [], counts: { ...none, unchanged: 1, unread: 2 } }
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
      email: `user${index}@example.com`,
      id: `usr_${index}`,
      action: 'change' as const,
      changes: [{ path: 'name', from: 'Old', to: `New ${index}` }],
    }))
    const text = textAt(60, { ...differences, users: many, unmanaged: [], counts: { ...none, change: 5000 } })
    const lines = text.split('\n')
    expect(lines).to.have.length(10_003)
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(60)
  })
})
