import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { MarkdownWriter } from '../../src/terminal/markdown/markdown-writer.ts'
import { plainStyle } from '../../src/terminal/markdown/text-style.ts'

const cell = fc.oneof(
  fc.stringMatching(/^[a-z]{1,12}$/),
  fc.constantFrom(
    '',
    '42',
    'two words',
    '**bold** text',
    '`code`',
    '中文字',
    '👍',
    'a long cell that has to be wrapped in it',
  ),
)
const table = fc
  .integer({ min: 1, max: 4 })
  .chain((columns) => {
    const row = fc.array(cell, { minLength: columns, maxLength: columns })
    return fc.tuple(row, fc.array(row, { maxLength: 12 }))
  })
  .map(([names, rows]) => {
    const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
    return {
      header: line(names.map((name, index) => name || `n${index}`)) + line(names.map(() => '---')),
      // A unique number identifies each row.
      rows: rows.map((cells, index) => line([`row${index}x`, ...cells.slice(1)])),
    }
  })

describe('a streamed table', () => {
  const writerOf = (columns: number) => new MarkdownWriter({ columns, style: plainStyle })

  it('shows its third row and each later row as soon as the line arrives', () =>
    fc.assert(
      fc.property(table, fc.integer({ min: 30, max: 120 }), ({ header, rows }, columns) => {
        const writer = writerOf(columns)
        let shown = writer.push(header)
        for (const [index, row] of rows.entries()) {
          shown += writer.push(row)
          if (index >= 2) {
            const unwrapped = shown.replaceAll(/\s|│/g, '')
            for (let each = 0; each <= index; each++) expect(unwrapped).to.contain(`row${each}x`)
          }
        }
      }),
      { numRuns: 2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))

  it('has room for cells that are longer than those of the first rows', () => {
    const writer = writerOf(80)
    const rows = ['| 1 | one |', '| 2 | two |', '| 3 | three |', '| 1000 | thirteen |'].join('\n')
    const shown = writer.push(`| n | name |\n|---|---|\n${rows}\n`) + writer.end()
    const found = shown.split('\n').slice(2)
    expect(found).to.deep.equal(['1     │ one', '2     │ two', '3     │ three', '1000  │ thirteen', ''])
  })

  it('has the widths of all rows if the whole reply is known, up to a bound for huge tables', () => {
    const long = 'one sentence that needs most of the columns that the terminal has'
    const short = '| 1 | a |\n'.repeat(3)
    const tableOf = (rows: number) => `| n | text |\n|---|---|\n${short.repeat(rows)}| 1 | ${long} |\n`
    const shown = (text: string, isWhole: boolean) => {
      const writer = new MarkdownWriter({ columns: 79, style: plainStyle, isWhole })
      return (text.match(/.{1,100}/gs) ?? []).map((part) => writer.push(part)).join('') + writer.end()
    }
    expect(shown(tableOf(200), true)).to.contain(`1 │ ${long}\n`)
    expect(shown(tableOf(200), true).split('\n')[0]).to.equal('n │ text')
    expect(shown(tableOf(200), false)).not.to.contain(long)
    expect(shown(tableOf(4_000), true)).not.to.contain(long)
  })

  it('continues below a repeated header in the new width when the terminal is resized', () => {
    let columns = 60
    const writer = new MarkdownWriter({
      get columns() {
        return columns
      },
      style: plainStyle,
    })
    const row = (index: number) => `| ${index} | ${'word '.repeat(9).trim()} |\n`
    const before = writer.push(`| n | words |\n|---|---|\n${row(1)}${row(2)}${row(3)}`)
    columns = 30
    const after = writer.push(row(4)) + writer.push(row(5)) + writer.end()
    expect(before).to.match(/^n .*\n─/)
    expect(after).to.match(/^n .*\n─/)
    expect(after.match(/words/g)).to.have.length(1)
    for (const line of after.split('\n')) expect(stringWidth(line)).to.be.at.most(30)
  })
})

describe('streamed prose during a resize of the terminal', () => {
  for (const [from, to] of [
    [60, 30],
    [30, 60],
  ] as const)
    it(`fills ${to} columns after ${from}`, () => {
      let columns = from
      const writer = new MarkdownWriter({
        get columns() {
          return columns
        },
        style: plainStyle,
      })
      const words = 'word '.repeat(40)
      writer.push(`> - ${words}`)
      columns = to
      const [, ...lines] = (writer.push(words) + writer.end()).trimEnd().split('\n')
      expect(Math.max(...lines.slice(0, -1).map((line) => stringWidth(line))))
        .to.be.at.most(to)
        .and.above(to - 6)
      expect(lines[0]).to.match(/^│ {3}word/)
    })
})
