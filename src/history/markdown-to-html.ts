import { Lexer, Marked, Parser, type Token, type Tokens, type TokensList } from 'marked'
import { escapeHtml } from '../pages/html.ts'

/** In characters. A longer message is shown as plain text. */
const maximumLength = 100_000

/**
 * Converts Markdown to HTML that is safe for any text. HTML in it is shown as text. Links lead only to web and
 * mail addresses. An image becomes a link, so that nothing is loaded.
 */
export function markdownToHtml(text: string): string {
  if (text.length > maximumLength) return `<pre class="raw" tabindex="0">${escapeHtml(text)}</pre>\n`
  const tokens = new BoundedLexer(parser.defaults).lex(text)
  arrangeHeadings(tokens)
  return parser.parser(tokens)
}

/** Removes empty headings, and closes gaps between levels. All levels are below the heading of the message. */
function arrangeHeadings(tokens: TokensList): void {
  const open: number[] = []
  parser.walkTokens(tokens, (token) => {
    if (token.type !== 'heading') return
    if (Parser.parseInline(token.tokens ?? [], parser.defaults).trim() === '') {
      token.type = 'space'
      return
    }
    while ((open.at(-1) ?? 0) >= token.depth) open.pop()
    open.push(token.depth)
    token.depth = Math.min(6, messageHeading + open.length)
  })
}

/** `<h2>` names the role and the time of a message. */
const messageHeading = 2

/** Levels of block quotes and lists. Deeper levels are shown as text. */
const maximumDepth = 50
/** Marks in one paragraph or cell. With more, it is shown as text, because the lexer takes quadratic time. */
const maximumMarks = 2_000
/** Characters that are searched for the underline of a heading (CommonMark section 4.3). */
const maximumHeading = 2_000
const marks = new Set('*_~`[]<>!|()\\&@:')

/** marked's lexer, without the inputs for which it takes quadratic time or overflows the stack. */
class BoundedLexer extends Lexer<string, string> {
  #depth = 0

  override blockTokens(source: string, tokens: Token[] = [], lastParagraphClipped?: boolean): TokensList {
    if (this.#depth === maximumDepth) {
      tokens.push({ type: 'paragraph', raw: source, text: source, tokens: [textToken(source)] })
      return tokens as TokensList
    }
    this.#depth += 1
    super.blockTokens(source, tokens, lastParagraphClipped)
    this.#depth -= 1
    return tokens as TokensList
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    let count = 0
    for (let index = 0; index < source.length && count <= maximumMarks; index++) {
      if (marks.has(source.charAt(index))) count += 1
    }
    if (count <= maximumMarks) return super.inlineTokens(source, tokens)
    tokens.push(textToken(source))
    return tokens
  }
}

function textToken(source: string): Tokens.Text {
  return { type: 'text', raw: source, text: source, escaped: false }
}

const parser = new Marked({
  gfm: true,
  tokenizer: {
    // At each line of a list item, marked searches for an underline up to the end of the item, in quadratic time.
    lheading(source) {
      const isNear = /\n {0,3}(?:=+|-+)[ \t]*(?:\n|$)/.test(source.slice(0, maximumHeading))
      return isNear ? false : undefined
    },
  },
  renderer: {
    html: ({ text }) => escapeHtml(text),
    text(token) {
      // After `<code>` or `<script>`, marked treats all text as already escaped.
      if ('escaped' in token) token.escaped = false
      return false
    },
    heading({ tokens, depth }) {
      return `<h${depth}>${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    // Wide code and wide tables scroll, so the keyboard must be able to reach them (WCAG 2.2, 2.1.1).
    code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}\n</code></pre>\n`,
    codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    link({ href, tokens }) {
      return linkTo(href, this.parser.parseInline(tokens))
    },
    image: ({ href, text }) => linkTo(href, escapeHtml(text || href)),
    table(token: Tokens.Table) {
      const row = (cells: Tokens.TableCell[], name: 'th' | 'td') =>
        `<tr>${cells.map((cell) => cellOf(cell, name, this.parser.parseInline(cell.tokens))).join('')}</tr>\n`
      const body = token.rows.map((cells) => row(cells, 'td')).join('')
      return `<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n<thead>${row(token.header, 'th')}</thead>\n<tbody>${body}</tbody>\n</table></div>\n`
    },
  },
})

function cellOf({ align }: Tokens.TableCell, name: 'th' | 'td', inner: string): string {
  const aligned = align === 'center' || align === 'right' ? ` class="${align}"` : ''
  return `<${name}${aligned}>${inner}</${name}>`
}

/** @param inner HTML */
function linkTo(href: string, inner: string): string {
  const address = href.replaceAll('&amp;', '&')
  // Checked without decoding: an address that a browser would decode first is not allowed.
  if (!/^(https?:\/\/|mailto:)[^\s\\]+$/i.test(address)) return inner
  const shown = escapeHtml(address)
  const text = inner.trim() === '' ? shown : inner
  const link = `<a href="${shown}" rel="noopener noreferrer nofollow">${text}</a>`
  // A label that looks like an address must not hide another one.
  const label = text.replace(/<[^<>]*>/g, '')
  const isOwn = [shown, shown.replace(/^(https?:\/\/|mailto:)/, '')].includes(label)
  return /[:/&]|\w\.\w/.test(label) && !isOwn ? `${link} (${shown})` : link
}
