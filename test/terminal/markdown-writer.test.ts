import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { type Highlight, loadHighlight } from '../../src/terminal/markdown/code-block.ts'
import { findCodeBlocks, selectCode } from '../../src/terminal/markdown/code-blocks.ts'
import { readCodeSelection } from '../../src/terminal/markdown/code-selection.ts'
import { MarkdownWriter } from '../../src/terminal/markdown/markdown-writer.ts'
import { plainStyle } from '../../src/terminal/markdown/text-style.ts'
import { stripControls } from '../../src/terminal/strip-controls.ts'
import { forAll, forAllTimes } from '../support/for-all.ts'
import { expectGolden } from '../support/golden.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { anyMarkdown, readable } from './markdown-samples.ts'
import { renderMarkdown } from './render-markdown.ts'

const link = (text: string, url: string): string => `{${text}}(${url})`

describe('streamed Markdown', () => {
  let highlight: Highlight

  before(async () => {
    highlight = await loadHighlight()
  })

  function render(parts: readonly string[], columns = 40): string {
    const writer = new MarkdownWriter({ columns, style: readable, link, highlight })
    return parts.map((part) => writer.push(part)).join('') + writer.end()
  }

  it('is the same for every split of the text', () =>
    fc.assert(
      fc.property(anyMarkdown, (text) => {
        const whole = render([text])
        for (let at = 1; at < text.length; at++)
          expect(render([text.slice(0, at), text.slice(at)])).to.equal(whole)
        expect(render(text.split(''))).to.equal(whole)
      }),
      // Each run renders the text once for every split.
      { numRuns: 0.4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))

  it('is the same for words and lines that are longer than the buffer', () => {
    for (const unit of ['*', '[', '`', '|', '> ', ' ', '中', '**a ', '\t']) {
      const text = `a\n${unit.repeat(1300 / unit.length)}b ${unit} c\n${unit.repeat(700)}`
      const whole = render([text])
      expect(render(text.split('')), unit).to.equal(whole)
      expect(render(text.match(/[\s\S]{1,97}/g) ?? []), unit).to.equal(whole)
    }
  })

  it('fills no line beyond the columns', () => {
    const marked = anyMarkdown.map((value) => value.replaceAll(/`{3}|~{3}|\t| {4}/g, ''))
    const word = fc.constantFrom(
      ...['a', 'word', 'longer', '**bold**', '`code`', '中文', '👍', '[li nk](http://a.b)'],
    )
    const prose = fc.array(word, { minLength: 10, maxLength: 60 }).map((words) => words.join(' '))
    const text = fc.oneof(
      marked,
      prose,
      prose.map((value) => `> - ${value}`),
    )
    forAll(text, fc.integer({ min: 16, max: 130 }), (value, columns) => {
      const lines = renderMarkdown(value, { columns, style: plainStyle }).split('\n')
      for (const line of lines) {
        // The terminal wraps indented code.
        if (!/^[│• ]* {2}/.test(line)) expect(stringWidth(line), line).to.be.at.most(columns)
      }
    })
  })

  it('keeps equals signs that do not underline a heading', () => {
    expect(render(['Foo\n= =\n'])).to.contain('= =')
    expect(render(['> foo\nbar\n===\n'])).to.contain('===')
    expect(render(['Foo\n===\n'])).not.to.contain('=')
  })

  it('ends with one newline, unless it is empty', () =>
    forAll(anyMarkdown, (text) => {
      const writer = new MarkdownWriter({ columns: 40, style: plainStyle })
      const all = writer.push(text) + writer.end()
      if (all !== '') expect(all).to.match(/[^\n]\n$/)
    }))

  it('puts no style between a character of code and its combining mark', () => {
    const style = { ...plainStyle, blue: (text: string) => `<${text}>`, cyan: (text: string) => `<${text}>` }
    const shown = renderMarkdown('```js\na.e\u0301\n```\n', { columns: 40, style, highlight })
    expect(shown).not.to.match(/>\p{M}/u)
    expect(shown).to.include('e\u0301')
  })

  it('shows no line for a table row without text', () =>
    expect(renderMarkdown('| a |\n|---|\n| |\n| b |\n|', { columns: 40, style: plainStyle })).to.match(
      /^a\n─+\nb\n$/,
    ))

  it('contains no control characters', () =>
    forAll(anyMarkdown, (text) => {
      const shown = render([text])
      expect(stripControls(shown)).to.equal(shown)
    }))

  it('shows words as they arrive, and holds back only ambiguous text', () => {
    const writer = new MarkdownWriter({ columns: 80, style: readable })
    const steps = [
      ['Hel', ''],
      ['lo ', 'Hello'],
      ['a **bold', ' a'],
      [' word', ''],
      ['** and ', ' <b>bold word</b> and'],
      ['5 * 3 snake_case ', ' 5 * 3 snake_case'],
      ['`co', ''],
      ['de` ', ' <cyan>code</cyan>'],
      ['[li](htt', ''],
      ['p://x) \n', ' <u>li</u> (http://x)'],
      ['- item ', '\n• item'],
      ['\n```\ncode', '\n<dim>┌─</dim>\n'],
      ['\nmore', 'code\n'],
    ] as const
    for (const [text, shown] of steps) expect(writer.push(text), text).to.equal(shown)
    expect(writer.end()).to.equal('more\n<dim>└─</dim>\n')
  })

  it('shows an unclosed mark as text if it stays open for too long', () => {
    const writer = new MarkdownWriter({ columns: 80, style: readable })
    expect(writer.push(`**open ${'word '.repeat(250)}`)).to.match(/^\*\*open word word/)
  })

  it('loses no word of text', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 30 })
    const marks = fc.constantFrom(
      ...[' ', '\n', '\n\n', '\n- ', '\n> ', '\n1. ', ' **', '** ', ' `', '` ', '\n# ', '\n| ', ' | '],
    )
    forAll(words, fc.array(marks, { minLength: 30, maxLength: 30 }), (values, between) => {
      const text = values.map((word, index) => word + between[index]).join('')
      expect(renderMarkdown(text, { columns: 200, style: plainStyle }).match(/[a-z]+/g)).to.deep.equal(values)
    })
  })
})

/** Markdown at 40 columns, with styles written as tags, and without styles. */
describe('rendered Markdown', () => {
  const directory = join(import.meta.dirname, 'golden')

  for (const name of ['blocks', 'inline', 'code', 'tables'])
    it(`matches the golden file ${name}`, async () => {
      const text = readFileSync(join(directory, `${name}.md`), 'utf8')
      const highlight = await loadHighlight()
      const shown = [
        renderMarkdown(text, { columns: 40, style: readable, highlight }),
        renderMarkdown(text, { columns: 40, style: plainStyle }),
      ].join(`${'='.repeat(40)}\n`)
      expectGolden(join(directory, `${name}.txt`), shown)
    })

  it('has clickable links only for addresses that are safe to open', () => {
    const link = (text: string, url: string): string => `{${text}|${url}}`
    const show = (text: string): string => renderMarkdown(text, { columns: 60, style: plainStyle, link })
    expect(show('[a b](https://x.example/ü)')).to.equal('{a b|https://x.example/%C3%BC}\n')
    expect(show('[a](javascript:x)')).to.equal('a (javascript:x)\n')
    expect(show('![a b](https://x.example/p)')).to.equal('{a b|https://x.example/p}\n')
    const found = show('[https://a.example](https://x.example)')
    expect(found).to.equal('{https://a.example|https://x.example} (https://x.example)\n')
    expect(show('see https://x.example.')).to.equal('see {https://x.example|https://x.example}.\n')
  })
})

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join('')

describe('the code blocks of a reply', () => {
  const table: [title: string, markdown: string, blocks: string[]][] = [
    ['between text', lines('Run:', '```sh', 'echo hi', '```', 'Done.'), ['echo hi\n']],
    ['with tildes', lines('~~~', 'a', '```', 'b', '~~~'), ['a\n```\nb\n']],
    ['with a longer fence around shorter ones', lines('````', '```', 'a', '```', '````'), ['```\na\n```\n']],
    ['with empty lines at both ends', lines('```', '', 'a', '', '', '```'), ['\na\n\n\n']],
    ['without code', lines('```', '```', 'text', '```', 'a', '```'), ['', 'a\n']],
    ['with tabs, in a list', lines('- x', '', '  ```', '  a', '  \tb', '  ```'), ['a\n\tb\n']],
    ['in a quote in a list', lines('1. > ```', '   > a', '   >', '   >   b', '   > ```'), ['a\n\n  b\n']],
    [
      'less indented than its list item',
      lines('1. x', '   ```', 'if a:', '    b', '   ```'),
      ['if a:\n    b\n'],
    ],
    ['less indented from its second line on', lines('- ```', '  a', 'b', '  c', '```'), ['a\nb\n  c\n']],
    ['without a closing fence', '```\na\nb', ['a\nb\n']],
    ['with Windows line breaks', '```\r\na\r\n```\r\n', ['a\n']],
    ['with control characters, unchanged', '```\n\u001b[31ma\u202eb\n```', ['\u001b[31ma\u202eb\n']],
    ['except indented code and code spans', lines('    a', '', '`b` and ``` c ```'), []],
  ]
  for (const [title, markdown, blocks] of table)
    it(`are found ${title}`, () => expect(findCodeBlocks(markdown)).to.deep.equal(blocks))

  it('are found unchanged in any nesting of lists and quotes', () => {
    const line = fc.string({ unit: fc.constantFrom(...' \t`~>-1.*#|aé漢') })
    const containers = fc.array(fc.constantFrom('> ', '- ', '1. ', '12) '), { maxLength: 4 })
    forAll(fc.array(fc.array(line), { maxLength: 3 }), containers, (blocks, markers) => {
      const margin = markers.map((marker) => (marker === '> ' ? marker : ' '.repeat(marker.length))).join('')
      const all = ['begin', '', ...blocks.flatMap((code) => ['~~~~~ x', ...code.map(harmless), '~~~~~', ''])]
      const markdown = all
        .map((text, index) => `${index === 0 ? markers.join('') : margin}${text}`)
        .join('\n')
      expect(findCodeBlocks(markdown)).to.deep.equal(blocks.map((code) => lines(...code.map(harmless))))
    })
  })

  it('are selected by number, as the last one, or all', () => {
    const markdown = lines('```', 'a', '```', '~~~', 'b', '~~~', '```', '```')
    expect(selectCode(markdown, 1)).to.equal('a\n')
    expect(selectCode(markdown, 2)).to.equal('b\n')
    expect(selectCode(markdown, 'last')).to.equal('')
    expect(selectCode(markdown, 'all')).to.equal('a\n\nb\n\n')
  })

  it('are counted in the error for a block that does not exist', () => {
    const missing = (markdown: string, selection: number | 'last' | 'all') => {
      const { code, message } = thrownFailure(() => selectCode(markdown, selection))
      expect(code).to.equal('no_code_block')
      return message
    }
    for (const selection of [1, 'last', 'all'] as const)
      expect(missing('no code', selection)).to.equal('The reply contains no code block')
    expect(missing('~~~', 2)).to.equal('The reply contains 1 code block, so block 2 does not exist')
    const shown = missing('~~~\n~~~\n~~~', 3)
    expect(shown).to.equal('The reply contains 2 code blocks, so block 3 does not exist')
  })

  it('are not selected by other words', () => {
    expect(['1', '12', 'last', 'all'].map(readCodeSelection)).to.deep.equal([1, 12, 'last', 'all'])
    for (const word of ['', '0', '01', '-1', '1.5', 'first', 'Last', '1 ', '9'.repeat(10)])
      expect(readCodeSelection(word), word).to.equal(undefined)
  })
})

/** The line, or an empty line if it has no text or would end the block. */
function harmless(line: string): string {
  return line.trim() === '' || /^~+$/.test(line.trim()) ? '' : line
}

const cell = fc.oneof(
  fc.stringMatching(/^[a-z]{1,12}$/),
  fc.constantFrom(
    ...[
      '',
      '42',
      'two words',
      '**bold** text',
      '`code`',
      '中文字',
      '👍',
      'a long cell that has to be wrapped in it',
    ],
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
    forAllTimes(2, table, fc.integer({ min: 30, max: 120 }), ({ header, rows }, columns) => {
      const writer = writerOf(columns)
      let shown = writer.push(header)
      for (const [index, row] of rows.entries()) {
        shown += writer.push(row)
        if (index >= 2) {
          const unwrapped = shown.replaceAll(/\s|│/g, '')
          for (let each = 0; each <= index; each++) expect(unwrapped).to.contain(`row${each}x`)
        }
      }
    }))

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
