import { type HtmlPage, html, privateHeaders, renderPage } from '../pages/page.ts'

/** The sign-in succeeded, failed, or was not expected. */
type PageName = 'signed-in' | 'not-signed-in' | 'not-expected'

const pages: Record<PageName, { status: number; title: string; sentence: string }> = {
  'signed-in': {
    status: 200,
    title: 'Signed in',
    sentence: 'You can close this tab and return to the terminal.',
  },
  'not-signed-in': {
    status: 200,
    title: 'Not signed in',
    sentence: 'The terminal shows the reason. You can close this tab.',
  },
  'not-expected': {
    status: 400,
    title: 'Unexpected request',
    sentence: 'No sign-in is in progress for this page. You can close this tab and return to the terminal.',
  },
}

const style = `
main{text-align:center;border-top:6px solid var(--mark)}
.signed-in{--mark:#12803c}
.not-signed-in{--mark:#c4291d}
.not-expected{--mark:#57606a}
p{max-width:32ch;margin:10px auto 0;color:var(--soft);text-wrap:balance}
`

/** A static page: it contains nothing of the request. */
export function renderCallbackPage(name: PageName): HtmlPage {
  const { status, title, sentence } = pages[name]
  const role = name === 'signed-in' ? 'status' : 'alert'
  const content = html`<div role="${role}">
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
