import { createHash } from 'node:crypto'

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

interface DocumentHead {
  title: string
  /** CSS. The only style that the policy allows. */
  style: string
  /** Class of `<main>`. */
  className?: string | undefined
  /** A file has no response headers, so its head contains the policy. */
  isFile?: boolean
}

/** Everything before the content of `<main>`. */
export function openDocument({ title, style, className, isFile = false }: DocumentHead): string {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${isFile ? filePolicy(style) : html`<meta name="robots" content="noindex">`}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main${className !== undefined && html` class="${className}"`}>
`
  return text
}

/** Everything after the content of `<main>`. */
export const closeDocument = `</main>
</body>
</html>
`

const filePolicy = (
  style: string,
) => html`<meta http-equiv="Content-Security-Policy" content="${new Html(ownContentOnly(style))}">
<meta name="referrer" content="no-referrer">`

/** The policy of an HTTP response. @param formAction where forms may be sent */
function contentSecurityPolicy(style: string, formAction = "'none'"): string {
  // A `<meta>` element cannot contain frame-ancestors (CSP level 3, section 3.3).
  return `${ownContentOnly(style, formAction)}; frame-ancestors 'none'`
}

/** Allows one style, by its hash (CSP level 3, section 2.3.1): no script, no image, no frame. */
function ownContentOnly(style: string, formAction = "'none'"): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action ${formAction}`
}

/** Markup that is safe to show. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Content = string | number | Html | undefined | false | readonly Content[]

/** Inserts values into markup. Text is escaped; `Html` and lists of it are inserted unchanged. */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(parts.reduce((text, part, index) => text + write(values[index - 1]) + part))
}

function write(value: Content): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(write).join('')
  return escapeHtml(String(value))
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // HTML cannot contain NUL.
  '\0': '\uFFFD',
}

/** Escapes text for content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'\0]/g, (character) => entities[character] ?? '')
}
