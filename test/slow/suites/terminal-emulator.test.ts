import xterm from '@xterm/headless'
import { expect } from 'chai'
import { Chalk } from 'chalk'
import fc from 'fast-check'
import { loadHighlight } from '../../../src/terminal/markdown/code-block.ts'
import { MarkdownWriter } from '../../../src/terminal/markdown/markdown-writer.ts'
import { type Mark, plainStyle, type TextStyle } from '../../../src/terminal/markdown/text-style.ts'
import { takesAll } from '../../support/take-sample.ts'
import { anyMarkdown } from '../../terminal/markdown-samples.ts'
import { renderMarkdown } from '../../terminal/render-markdown.ts'

const color = new Chalk({ level: 3 })
const colored: TextStyle = styleOf((name) => color[name === 'strike' ? 'strikethrough' : name])
/** Sequences that change nothing, so that Markdown marks are removed as with color. */
const uncolored: TextStyle = styleOf(() => (text) => `\u001b[0m${text}`)

describe('Markdown in a terminal emulator', function () {
  this.timeout(300_000)

  it('shows the same characters in the same cells with and without color, in pieces of any size', async () => {
    const highlight = await loadHighlight()
    const columnCount = fc.integer({ min: 20, max: 120 })
    const pieceLength = fc.integer({ min: 1, max: 9 })
    await fc.assert(
      fc.asyncProperty(anyMarkdown, columnCount, pieceLength, async (text, columns, length) => {
        const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
        const writer = new MarkdownWriter({ columns, style: colored, highlight })
        const output = pieces.map((piece) => writer.push(piece)).join('') + writer.end()
        const expected = renderMarkdown(text, { columns, style: uncolored })
        expect(await screenOf(output, columns)).to.deep.equal(await screenOf(expected, columns))
      }),
      { numRuns: takesAll ? 20_000 : 500 },
    )
  })
})

function styleOf(choose: (name: Mark) => (text: string) => string): TextStyle {
  const names = Object.keys(plainStyle) as Mark[]
  return Object.fromEntries(names.map((name) => [name, choose(name)])) as unknown as TextStyle
}

/** The text of each row, with a mark if the row continues the one above. */
async function screenOf(output: string, columns: number): Promise<string[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 10_000, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(output.replaceAll('\n', '\r\n'), resolve))
  const { active } = terminal.buffer
  const rows: string[] = []
  for (let row = 0; row < active.length; row++) {
    const line = active.getLine(row)
    if (line) rows.push(`${line.isWrapped ? '…' : ''}${line.translateToString(true)}`)
  }
  terminal.dispose()
  return rows
}
