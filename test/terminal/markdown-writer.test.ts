import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { type Highlight, loadHighlight } from '../../src/terminal/markdown/code-block.ts'
import { MarkdownWriter } from '../../src/terminal/markdown/markdown-writer.ts'
import { plainStyle } from '../../src/terminal/markdown/text-style.ts'
import { stripControls } from '../../src/terminal/strip-controls.ts'
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

  it('is the same for every split of the text', () => {
    fc.assert(
      fc.property(anyMarkdown, (text) => {
        const whole = render([text])
        for (let at = 1; at < text.length; at++)
          expect(render([text.slice(0, at), text.slice(at)])).to.equal(whole)
        expect(render(text.split(''))).to.equal(whole)
      }),
      // Each run renders the text once for every split.
      { numRuns: 0.4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

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
      'a',
      'word',
      'longer',
      '**bold**',
      '`code`',
      '中文',
      '👍',
      '[li nk](http://a.b)',
    )
    const prose = fc.array(word, { minLength: 10, maxLength: 60 }).map((words) => words.join(' '))
    const text = fc.oneof(
      marked,
      prose,
      prose.map((value) => `> - ${value}`),
    )
    fc.assert(
      fc.property(text, fc.integer({ min: 16, max: 130 }), (value, columns) => {
        const lines = renderMarkdown(value, { columns, style: plainStyle }).split('\n')
        for (const line of lines) {
          // The terminal wraps indented code.
          if (!/^[│• ]* {2}/.test(line)) expect(stringWidth(line), line).to.be.at.most(columns)
        }
      }),
    )
  })

  it('keeps equals signs that do not underline a heading', () => {
    expect(render(['Foo\n= =\n'])).to.contain('= =')
    expect(render(['> foo\nbar\n===\n'])).to.contain('===')
    expect(render(['Foo\n===\n'])).not.to.contain('=')
  })

  it('ends with one newline, unless it is empty', () =>
    fc.assert(
      fc.property(anyMarkdown, (text) => {
        const writer = new MarkdownWriter({ columns: 40, style: plainStyle })
        const all = writer.push(text) + writer.end()
        if (all !== '') expect(all).to.match(/[^\n]\n$/)
      }),
    ))

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
    fc.assert(
      fc.property(anyMarkdown, (text) => {
        const shown = render([text])
        expect(stripControls(shown)).to.equal(shown)
      }),
    ))

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
      ' ',
      '\n',
      '\n\n',
      '\n- ',
      '\n> ',
      '\n1. ',
      ' **',
      '** ',
      ' `',
      '` ',
      '\n# ',
      '\n| ',
      ' | ',
    )
    fc.assert(
      fc.property(words, fc.array(marks, { minLength: 30, maxLength: 30 }), (values, between) => {
        const text = values.map((word, index) => word + between[index]).join('')
        const shown = renderMarkdown(text, { columns: 200, style: plainStyle })
        expect(shown.match(/[a-z]+/g)).to.deep.equal(values)
      }),
    )
  })
})
