import { expect } from 'chai'
// @ts-expect-error: the package has no types.
import specification from 'commonmark-spec'
import { markdownToHtml } from '../../../src/history/html-document.ts'
import { escapeHtml } from '../../../src/pages/page.ts'
import { findCodeBlocks } from '../../../src/terminal/markdown/code-blocks.ts'
import { MarkdownWriter } from '../../../src/terminal/markdown/markdown-writer.ts'
import { plainStyle } from '../../../src/terminal/markdown/text-style.ts'

interface Example {
  number: number
  section: string
  markdown: string
  html: string
}

const { tests } = specification as { tests: Example[] }
/** The specification prints a tab as an arrow. */
const examples = tests.map((test) => ({
  ...test,
  markdown: test.markdown.replaceAll('→', '\t'),
  html: test.html.replaceAll('→', '\t'),
}))

/** Named character references, which an export leaves to the browser. */
const namedReferences = 25

/** Examples of reference links, which the terminal shows as they are written. */
const unlike: ReadonlySet<number> = new Set([216, 534, 535, 564])

describe('the CommonMark specification', () => {
  it('has more than 600 examples in its package', () => {
    expect(examples).to.have.length.above(600)
  })

  const read = examples.filter(({ number }) => number !== namedReferences)
  for (const { number, section, markdown, html } of read) {
    if (section === 'HTML blocks' || section === 'Raw HTML') continue
    it(`example ${number} (${section}) loses no text in an HTML export`, () => {
      expect(charactersMissing(textOf(html), textOf(markdownToHtml(markdown)))).to.equal('')
    })
  }

  for (const { number, section, markdown, html } of read) {
    if (section === 'HTML blocks' || section === 'Raw HTML' || unlike.has(number)) continue
    it(`example ${number} (${section}) loses no text in the terminal, however it arrives`, () => {
      const shown = render([markdown])
      expect(charactersMissing(textOf(html), shown)).to.equal('')
      expect(render(markdown.split(''))).to.equal(shown)
    })
  }

  /** Examples with fences and indented code, which is not counted. */
  const indented: ReadonlySet<number> = new Set([134, 278])
  for (const { number, section, markdown, html } of examples) {
    if (!/```|~~~/.test(markdown) || section === 'HTML blocks' || indented.has(number)) continue
    it(`example ${number} (${section}) has the same code blocks`, () => {
      const blocks = [...html.matchAll(/<pre><code[^>]*>([\s\S]*?)<\/code><\/pre>/g)].map(([, code]) => code)
      expect(findCodeBlocks(markdown).map(escapeHtml)).to.deep.equal(blocks)
    })
  }
})

function render(pieces: readonly string[]): string {
  const writer = new MarkdownWriter({ columns: 500, style: plainStyle, link: (text) => text })
  return pieces.map((piece) => writer.push(piece)).join('') + writer.end()
}

/** @returns the characters of `expected` that do not appear in `shown` in the same order, without spaces */
function charactersMissing(expected: string, shown: string): string {
  let at = 0
  let missing = ''
  for (const character of expected.replace(/\s/g, '')) {
    const found = shown.indexOf(character, at)
    if (found < 0) missing += character
    else at = found + character.length
  }
  return missing
}

/** The text between the tags of well-formed HTML. */
function textOf(html: string): string {
  return html
    .replace(/<\/?[a-z][^>"]*(?:"[^"]*"[^>"]*)*>/gi, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? '')
}

const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
