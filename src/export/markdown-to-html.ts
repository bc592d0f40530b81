import { Marked, type Tokens } from 'marked'
import { escapeHtml } from './escape-html.ts'

/** Characters. Beyond it a message is shown as it is, for a parser may take long over hostile ones. */
const longest = 100_000

/**
 * Markdown as HTML that is safe whatever the text holds: HTML in it is shown, not taken; a link goes
 * to the web or to a mailbox; an image is a link, so that nothing is loaded.
 */
export function markdownToHtml(text: string): string {
  if (text.length > longest || isHostile(text)) return asItIs(text)
  try {
    return parser.parse(text, { async: false })
  } catch {
    // Nested so deep that the stack ends.
    return asItIs(text)
  }
}

function asItIs(text: string): string {
  return `<pre class="raw">${escapeHtml(text)}</pre>\n`
}

/** Marks in one paragraph, over which the parser takes quadratic time. */
const mostMarks = 2_000

/** Levels of quotes and lists that open in one line. */
const deepLine = /(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*){50}/

/** Whether it holds what no person writes and what the parser would take long for. */
function isHostile(text: string): boolean {
  if (deepLine.test(text)) return true
  return text.split(/\n[ \t>]*\n/).some((paragraph) => {
    let marks = 0
    for (let index = 0; index < paragraph.length && marks <= mostMarks; index++) {
      if ('*_~`[]<>!|()\\&@:'.includes(paragraph[index] ?? '')) marks += 1
    }
    return marks > mostMarks
  })
}

const parser = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    text(token) {
      // Behind a `<code>` or `<script>` marked takes all text for HTML that is escaped already.
      if ('escaped' in token) token.escaped = false
      return false
    },
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2)
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`
    },
    code: ({ text }) => `<pre><code>${escapeHtml(text)}\n</code></pre>\n`,
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
      return `<div class="table"><table>\n<thead>${row(token.header, 'th')}</thead>\n<tbody>${body}</tbody>\n</table></div>\n`
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
  // Judged as it stands: whatever a browser would first have to decode is not one of these.
  if (!/^(https?:\/\/|mailto:)[^\s\\]+$/i.test(address)) return inner
  return `<a href="${escapeHtml(address)}" rel="noopener noreferrer nofollow">${inner}</a>`
}
