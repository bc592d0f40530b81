import { expect } from 'chai'
import fc from 'fast-check'
import { lexer, type Tokens } from 'marked'
import type { Span } from '../../src/view/format/view.ts'
import { differenceView } from '../../src/view/settings.ts'

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
