import { Html, html } from '../pages/html.ts'
import { type HtmlPage, privateHeaders, renderPage } from '../pages/page.ts'

/** The sign-in succeeded, failed, or was not expected. */
export type PageName = 'signed-in' | 'not-signed-in' | 'not-expected'

interface Words {
  status: number
  title: string
  sentence: string
  mark: Html
  /** ARIA role, for screen readers. */
  role: 'status' | 'alert'
}

const tick = new Html('<path d="M20 33.5l8 8 16-18"/>')
const cross = new Html('<path d="M22.5 22.5l19 19M41.5 22.5l-19 19"/>')
const dash = new Html('<path d="M22 32h20"/>')

const pages: Record<PageName, Words> = {
  'signed-in': {
    status: 200,
    title: 'Signed in',
    sentence: 'You can close this tab and return to the terminal.',
    mark: tick,
    role: 'status',
  },
  'not-signed-in': {
    status: 200,
    title: 'Not signed in',
    sentence: 'The terminal shows the reason. You can close this tab.',
    mark: cross,
    role: 'alert',
  },
  'not-expected': {
    status: 400,
    title: 'Unexpected request',
    sentence: 'No sign-in is in progress for this page. You can close this tab and return to the terminal.',
    mark: dash,
    role: 'alert',
  },
}

const style = `
main{text-align:center}
.signed-in{--mark:#12803c;--tint:#e3f5e9}
.not-signed-in{--mark:#c4291d;--tint:#fdeae8}
.not-expected{--mark:#57606a;--tint:#edeff2}
@media (prefers-color-scheme:dark){
.signed-in{--mark:#4fd17f;--tint:#15321f}
.not-signed-in{--mark:#ff8a80;--tint:#3b1b1a}
.not-expected{--mark:#a3adb8;--tint:#242a32}
}
svg{display:block;width:72px;height:72px;margin:0 auto 24px;fill:none;stroke:var(--mark);stroke-width:4.5;stroke-linecap:round;stroke-linejoin:round}
circle{fill:var(--tint);stroke:none}
p{max-width:32ch;margin:10px auto 0;color:var(--soft);text-wrap:balance}
@media (prefers-reduced-motion:no-preference){
main{animation:rise .36s cubic-bezier(.2,.7,.2,1) both}
path{stroke-dasharray:60;animation:draw .5s .16s ease-out both}
}
@keyframes rise{from{opacity:0;transform:translateY(8px)}}
@keyframes draw{from{stroke-dashoffset:60}}
`

/** A static page: it contains nothing of the request. */
export function renderCallbackPage(name: PageName): HtmlPage {
  const { status, title, sentence, mark, role } = pages[name]
  const content = html`<svg viewBox="0 0 64 64" aria-hidden="true"><circle cx="32" cy="32" r="32"/>${mark}</svg>
<div role="${role}">
<h1>${title}</h1>
<p>${sentence}</p>
</div>`
  return renderPage({ status, title, style, className: name, content, headers: closing })
}

/** A response without a page, for requests such as that for an icon. */
export function renderNothing(status: 404 | 405): HtmlPage {
  const allow: Record<string, string> = status === 405 ? { allow: 'GET' } : {}
  return { status, headers: { ...privateHeaders, ...closing, ...allow, 'content-length': '0' }, body: '' }
}

/** Redirects the browser and sets a cookie. */
export function renderRedirect(location: string, cookie: string): HtmlPage {
  const headers = {
    ...privateHeaders,
    ...closing,
    location,
    'set-cookie': cookie,
    'content-length': '0',
  }
  return { status: 302, headers, body: '' }
}

const closing = { connection: 'close' }
