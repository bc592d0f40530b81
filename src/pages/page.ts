import { closeDocument, contentSecurityPolicy, openDocument } from './document.ts'
import { type Html, html } from './html.ts'

/** A complete response to a browser. */
export interface HtmlPage {
  status: number
  headers: Record<string, string>
  body: string
}

interface PageOptions {
  status: number
  title: string
  /** CSS in addition to the look of all pages. */
  style: string
  /** Class of the card. */
  className?: string | undefined
  content: Html
  footer?: string
  /** Where forms may be sent, as a list of CSP sources. */
  formAction?: string
  headers?: Record<string, string>
}

/** The browser does not store the response, guess its type, show it in a frame or send its address on. */
export const privateHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
}

/** A card in the middle of the window. It runs no script and loads nothing. */
export function renderPage(options: PageOptions): HtmlPage {
  const { status, title, className, content, footer = 'chatctl', formAction, headers } = options
  const style = `${cardStyle}${options.style}`
  const head = openDocument({ title: `${title} · chatctl`, style, className })
  const { text } = html`${content}
<footer>${footer}</footer>
`
  const body = head + text + closeDocument
  return {
    status,
    headers: {
      ...privateHeaders,
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'content-security-policy': contentSecurityPolicy(style, formAction),
      ...headers,
    },
    body,
  }
}

/** Colors for light and dark, the card, text. */
const cardStyle = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--edge:#e3e6eb;--ink:#16191d;--soft:#57606a;--shade:0 1px 2px #10182810,0 12px 32px -8px #1018281f}
@media (prefers-color-scheme:dark){
:root{--ground:#0e1116;--card:#171b21;--edge:#2a3038;--ink:#eef1f4;--soft:#a3adb8;--shade:0 16px 40px -8px #0009}
}
*{box-sizing:border-box;margin:0}
body{min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:24px;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-font-smoothing:antialiased;-webkit-text-size-adjust:100%}
main{width:100%;max-width:416px;padding:48px 40px 28px;border:1px solid var(--edge);border-radius:20px;background:var(--card);box-shadow:var(--shade)}
h1{font-size:1.625rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
footer{margin-top:36px;padding-top:20px;border-top:1px solid var(--edge);color:var(--soft);font:13px/1.4 ui-monospace,"SF Mono",Menlo,Consolas,monospace;text-align:center}
@media (max-width:460px){body{padding:16px}main{padding:40px 24px 24px}}
`
