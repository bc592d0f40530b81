import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadHighlight } from '../../src/terminal/markdown/code-block.ts'
import { plainStyle } from '../../src/terminal/markdown/text-style.ts'
import { expectGolden } from '../support/golden.ts'
import { readable } from './markdown-samples.ts'
import { renderMarkdown } from './render-markdown.ts'

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
