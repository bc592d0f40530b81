import { expect } from 'chai'
// @ts-expect-error: the package has no types.
import specification from 'commonmark-spec'
import { MarkdownWriter } from '../../../src/terminal/markdown/markdown-writer.ts'
import { plainStyle, type TextStyle } from '../../../src/terminal/markdown/text-style.ts'
import { createRandom } from '../../support/random.ts'
import { textByCmark } from './cmark.ts'

const { tests } = specification as { tests: { number: number; section: string; markdown: string }[] }
/** The specification prints a tab as an arrow. */
const examples = tests.map((test) => ({ ...test, markdown: test.markdown.replaceAll('→', '\t') }))

/** The examples whose text differs from that of cmark-gfm, by reason. */
const exceptions: Record<string, readonly number[]> = {
  'rare named character references are shown as written': [25, 32, 33, 503],
  'cmark-gfm implements an older version of the specification': [28, 354],
  'HTML is text, so Markdown within a block of HTML is rendered': [
    148, 150, 151, 155, 156, 158, 159, 161, 162, 163, 164, 165, 166, 177, 178, 186, 189,
  ],
}

/** What the renderer adds to the text is dim. Other styles are shown, so that no mark replaces them. */
const visible = (text: string): string => `\u001b[0m${text}`
const style: TextStyle = { ...plainStyle, dim: () => '', cyan: visible, strike: visible }

describe('the CommonMark examples in the terminal', () => {
  it('are more than 600', () => {
    expect(examples).to.have.length.above(600)
  })

  for (const { number, section, markdown } of examples) {
    const cause = Object.keys(exceptions).find((reason) => exceptions[reason]?.includes(number))
    it(`example ${number} (${section}) shows the text that cmark-gfm reads${cause ? `, except that ${cause}` : ''}`, () => {
      const shown = render([markdown])
      const expected = normalize(readWithoutDefinitions(markdown))
      if (cause === undefined) expect(normalize(shown)).to.equal(expected)
      else expect(normalize(shown)).not.to.equal(expected)
      for (const pieces of splits(markdown, number)) expect(render(pieces)).to.equal(shown)
    })
  }
})

function render(pieces: readonly string[]): string {
  const writer = new MarkdownWriter({ columns: 500, style, link: (text) => text })
  return pieces.map((piece) => writer.push(piece)).join('') + writer.end()
}

/** A text in single characters, and ten times in pieces of random lengths. */
function splits(text: string, seed: number): string[][] {
  const random = createRandom(seed)
  const split = (): string[] => {
    const pieces: string[] = []
    for (let from = 0; from < text.length; ) {
      const to = from + 1 + Math.floor(random() * 12)
      pieces.push(text.slice(from, to))
      from = to
    }
    return pieces
  }
  return [text.split(''), ...Array.from({ length: 10 }, split)]
}

/**
 * A link reference definition is text in the terminal, as are the references, because the text that refers
 * to it may have been shown before it arrives. So cmark-gfm reads a colon that does not define anything.
 */
function readWithoutDefinitions(markdown: string): string {
  return textByCmark(markdown.replaceAll(']:', ']\\:')).replaceAll(']\\:', ']:')
}

/** Without list markers, margins, and empty lines, and with single spaces. */
function normalize(text: string): string {
  return text
    .replaceAll('\u001b[0m', '')
    .split('\n')
    .map((line) => line.replace(listMarkers, '').trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '')
    .join('\n')
}

const listMarkers = /^\s*(?:(?:•|\d{1,9}[.)]|\[[ x]\])(?: +|$))+/
