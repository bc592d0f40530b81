import type { HistoryMessage } from '../contract/conversation.ts'
import { escapeHtml } from './escape-html.ts'
import { style } from './html-style.ts'
import { markdownToHtml } from './markdown-to-html.ts'
import { textOf, titleOf } from './message-text.ts'

/** One file that loads nothing and runs nothing, whatever the messages hold. */
export const htmlDocument = {
  head: (context: string | undefined): string => {
    const title = escapeHtml(titleOf(context))
    const { createHash } = process.getBuiltinModule('node:crypto')
    const digest = createHash('sha256').update(style).digest('base64')
    // Only this style: no script, no image, no frame, no form, even if one got past the escaping.
    const policy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1 dir="auto">${title}</h1>
`
  },
  message: (message: HistoryMessage): string => {
    const { role, time, isoTime, content } = textOf(message)
    const stamp = isoTime ? `<time datetime="${isoTime}">${time}</time>` : escapeHtml(time ?? '')
    const kind = kinds.has(role) ? role : 'other'
    return `<article class="${kind}">
<header><h2 dir="auto">${escapeHtml(role)}</h2> ${stamp}</header>
<div class="content" dir="auto">
${markdownToHtml(content)}</div>
</article>
`
  },
  tail: (): string => '</main>\n</body>\n</html>\n',
}

const kinds: ReadonlySet<string> = new Set(['user', 'assistant', 'system'])
