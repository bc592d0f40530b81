import { type Html, type HtmlPage, html, renderPage } from '../../../pages/page.ts'

/** The result of the form that the user sent last. */
export interface Notice {
  /** An error. */
  alert?: string | undefined
  done?: string | undefined
  /** Seconds until the next attempt is allowed. */
  retryAfter?: number | undefined
}

/** Asks the user to wait. */
export function waitNotice(seconds: number): Notice {
  const [count, unit] = seconds < 60 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  const words = `${count} ${unit}${count === 1 ? '' : 's'}`
  return { alert: `Too many failed attempts. Try again in ${words}.`, retryAfter: seconds }
}

export function writeNotice({ alert, done }: Notice): Html {
  return html`${alert !== undefined && html`<p class="alert" role="alert">${alert}</p>`}
${done !== undefined && html`<p class="done" role="status">${done}</p>`}`
}

interface OAuthPageOptions {
  /** Sets the status and `Retry-After`. The content must show it. */
  notice?: Notice
  /** Default: 429 for a notice with a wait, 400 for an alert, else 200. */
  status?: number
  /** Makes room for more than one form. */
  isWide?: boolean
  /**
   * Where a form may redirect to besides this service: a program on the user's machine. Chromium applies
   * `form-action` also to redirects after a form.
   */
  redirectUri?: string | undefined
}

export function renderOAuthPage(title: string, content: Html, options: OAuthPageOptions = {}): HtmlPage {
  const { notice: { alert, retryAfter } = {}, isWide = false, redirectUri } = options
  const { status = retryAfter !== undefined ? 429 : alert !== undefined ? 400 : 200 } = options
  return renderPage({
    status,
    title,
    style,
    className: isWide ? 'wide' : undefined,
    content: html`<h1>${title}</h1>
${content}`,
    formAction: redirectUri === undefined ? "'self'" : `'self' ${sourceOf(redirectUri)}`,
    headers: {
      // Not `no-referrer`: forms would be sent with `Origin: null`, like forms of other sites.
      'referrer-policy': 'same-origin',
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    },
  })
}

/** A page with an error and what to do about it. @param retryAfter seconds */
export function errorPage(status: number, title: string, sentence: string, retryAfter?: number): HtmlPage {
  return renderOAuthPage(title, html`<p role="alert">${sentence}</p>`, { status, notice: { retryAfter } })
}

/** CSP level 3, section 2.3.1 has no IPv6 addresses, so the whole scheme is allowed instead. */
function sourceOf(address: string): string {
  const { protocol, host, origin } = new URL(address)
  return host.startsWith('[') ? protocol : origin
}

const style = `
:root{--strong:#1f5fd0;--on-strong:#fff;--ring:#1f5fd0;--field:#fff;--line:#8a94a0;--bad:#b3261e;--bad-tint:#fdeceb;--good:#12702f;--good-tint:#e5f5ea}
@media (prefers-color-scheme:dark){:root{--strong:#8ab4ff;--on-strong:#0b1a33;--ring:#8ab4ff;--field:#0e1116;--line:#6b7682;--bad:#ff9a92;--bad-tint:#391a19;--good:#6bdc93;--good-tint:#15311f}}
main.wide{max-width:680px}
main>p,section>p{margin-top:8px;color:var(--soft)}
b{color:var(--ink);font-weight:600;overflow-wrap:anywhere}
form{margin-top:24px}
label{display:block;margin:16px 0 6px;font-weight:550;font-size:.9375rem}
input:not([type=hidden]){width:100%;padding:11px 12px;border:1px solid var(--line);border-radius:10px;background:var(--field);color:var(--ink);font:inherit}
button{padding:11px 18px;border:1px solid var(--line);border-radius:10px;background:transparent;color:var(--ink);font:inherit;font-weight:600;cursor:pointer}
button.strong{border-color:var(--strong);background:var(--strong);color:var(--on-strong)}
:focus-visible{outline:3px solid var(--ring);outline-offset:2px}
.buttons{display:flex;flex-wrap:wrap;gap:12px;margin-top:24px}
.buttons .strong{flex:1 1 160px}
.alert,.done{margin-top:20px;padding:12px 14px;border-radius:10px;background:var(--bad-tint);color:var(--bad)}
.done{background:var(--good-tint);color:var(--good)}
a{color:var(--strong)}
ul{margin-top:16px;padding:0;list-style:none;border:1px solid var(--edge);border-radius:12px}
li{display:flex;flex-wrap:wrap;align-items:center;gap:8px 16px;padding:12px 14px}
li+li{border-top:1px solid var(--edge)}
li>div{flex:1 1 260px;min-width:0;overflow-wrap:anywhere}
li small,.hint{color:var(--soft);font-size:.875rem}
li small{display:block}form>.hint{margin-top:14px}
li form{margin:0}li button{padding:7px 12px;font-size:.875rem}
section{margin-top:36px}h2{font-size:1.125rem;line-height:1.3;font-weight:650}
code{font:14px/1.6 ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
.qr{display:block;width:200px;height:200px;margin:20px 0 12px;border-radius:12px;background:#fff}
`
