import { expect } from 'chai'
import fc from 'fast-check'
import { marked } from 'marked'
import { showControls } from '../../../src/terminal/strip-controls.ts'
import { markdownTable } from '../../../src/view/format/markdown-table.ts'
import { codePoint } from '../../support/code-point.ts'

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
