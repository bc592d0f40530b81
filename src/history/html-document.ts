import { Marked, Parser, type Tokens, type TokensList } from 'marked'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { closeDocument, escapeHtml, Html, html, openDocument } from '../pages/page.ts'
import { textOf } from './markdown-document.ts'

/** A single file that loads nothing and runs no script, whatever the messages contain. */
export const htmlDocument = {
  head: (title: string): string => {
    const { text } = html`<h1 dir="auto">${title}</h1>
`
    return openDocument({ title, style, isFile: true }) + text
  },
  message: (message: HistoryMessage): string => {
    const { role, time, isoTime, content } = textOf(message)
    // A person rarely means Markdown by `__init__.py`, or by the lines of a paste.
    const isVerbatim = role === 'user' || role === 'system'
    const { text } = html`<article class="${kinds.has(role) ? role : 'other'}">
<header><h2 dir="auto">${role}</h2> ${isoTime ? html`<time datetime="${isoTime}">${time}</time>` : time}</header>
<div class="content${isVerbatim && ' verbatim'}" dir="auto">${isVerbatim ? content : new Html(`\n${markdownToHtml(content)}`)}</div>
</article>
`
    return text
  },
  tail: (): string => closeDocument,
}

const kinds: ReadonlySet<string> = new Set(['user', 'assistant', 'system'])

/** Loads no font or image. */
const style = `
:root { color-scheme: light dark; --text: #1c1e21; --quiet: #5c6470; --page: #f4f5f7; --card: #fff; --line: #d9dce1; --code: #f0f2f4; --user: #1f5fbf; --assistant: #1a7f4b; --system: #8a5a00; --link: #0b57d0 }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6ea; --quiet: #9aa3af; --page: #16181c; --card: #1f2227; --line: #363b43; --code: #15171a; --user: #7fb0ff; --assistant: #6fd19c; --system: #e0b04f; --link: #8ab4f8 } }
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 50rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
article { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--quiet); border-radius: 6px; margin: 0 0 1rem; padding: .75rem 1rem; content-visibility: auto; contain-intrinsic-size: auto 12rem }
article.user { border-left-color: var(--user); margin-left: 8% }
article.assistant { border-left-color: var(--assistant) }
article.system { border-left-color: var(--system) }
header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; color: var(--quiet); font-size: .85rem }
header h2 { margin: 0; font-size: .95rem; color: var(--text); overflow-wrap: anywhere }
.user header h2 { color: var(--user) }
.assistant header h2 { color: var(--assistant) }
.system header h2 { color: var(--system) }
.content { overflow-wrap: anywhere }
.verbatim { margin-top: .5rem; white-space: pre-wrap }
.content > :first-child { margin-top: .5rem }
.content > :last-child { margin-bottom: 0 }
.content h3, .content h4, .content h5, .content h6 { margin: 1.2em 0 .4em; line-height: 1.3 }
.content h3 { font-size: 1.2rem }
.content h4 { font-size: 1.1rem }
.content h5, .content h6 { font-size: 1rem }
a { color: var(--link) }
code, pre { font: .875em/1.5 ui-monospace, monospace; background: var(--code); border-radius: 4px }
code { padding: .1em .3em }
pre { margin: .75rem 0; padding: .75rem; overflow-x: auto; overflow-wrap: normal }
pre code { padding: 0; background: none; font-size: 1em }
pre.raw { white-space: pre-wrap; overflow-wrap: anywhere }
blockquote { margin: .75rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--quiet) }
.table { overflow-x: auto }
table { border-collapse: collapse; overflow-wrap: normal }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: start; vertical-align: top }
th.center, td.center { text-align: center }
th.right, td.right { text-align: end }
ul, ol { padding-left: 1.5rem }
hr { border: 0; border-top: 1px solid var(--line) }
@media (max-width: 30rem) { main { padding: .5rem } article { padding: .6rem .7rem } article.user { margin-left: 4% } }
@media print {
  :root { color-scheme: light; --text: #000; --quiet: #444; --page: #fff; --card: #fff; --line: #bbb; --code: #f5f5f5; --user: #1f5fbf; --assistant: #1a7f4b; --system: #8a5a00; --link: #000 }
  body { font-size: 11pt }
  main { max-width: none; padding: 0 }
  article { content-visibility: visible; border-width: 0 0 0 3px; border-radius: 0; padding: .2rem .8rem }
  header { break-after: avoid }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; overflow: visible }
  .table { overflow: visible }
  table { overflow-wrap: anywhere }
  tr, img { break-inside: avoid }
}
`

/** In characters. A longer message is shown as plain text. */
const maximumLength = 100_000

/**
 * Converts Markdown to HTML that is safe for any text. HTML in it is shown as text. Links lead only to web and
 * mail addresses. An image becomes a link, so that nothing is loaded.
 */
export function markdownToHtml(text: string): string {
  try {
    if (text.length <= maximumLength) {
      const tokens = parser.lexer(text)
      arrangeHeadings(tokens)
      return parser.parser(tokens)
    }
  } catch {
    // A text that is nested too deeply overflows the stack.
  }
  return `<pre class="raw" tabindex="0">${escapeHtml(text)}</pre>\n`
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

const parser = new Marked({
  gfm: true,
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
