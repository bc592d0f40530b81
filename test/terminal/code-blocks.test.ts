import { expect } from 'chai'
import fc from 'fast-check'
import { findCodeBlocks, selectCode } from '../../src/terminal/markdown/code-blocks.ts'
import { readCodeSelection } from '../../src/terminal/markdown/code-selection.ts'
import { thrownFailure } from '../support/thrown-failure.ts'

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
    fc.assert(
      fc.property(fc.array(fc.array(line), { maxLength: 3 }), containers, (blocks, markers) => {
        const margin = markers
          .map((marker) => (marker === '> ' ? marker : ' '.repeat(marker.length)))
          .join('')
        const all = [
          'begin',
          '',
          ...blocks.flatMap((code) => ['~~~~~ x', ...code.map(harmless), '~~~~~', '']),
        ]
        const markdown = all
          .map((text, index) => `${index === 0 ? markers.join('') : margin}${text}`)
          .join('\n')
        expect(findCodeBlocks(markdown)).to.deep.equal(blocks.map((code) => lines(...code.map(harmless))))
      }),
    )
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
