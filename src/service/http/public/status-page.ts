import { type HtmlPage, html, renderPage } from '../../../pages/page.ts'
import { paths } from '../../oauth/metadata.ts'

const style = `
:root{--well:#f4f5f7}
.ready{--mark:#0f7035;--tint:#e3f5e9}
.not-ready{--mark:#a15c07;--tint:#fdf0dc}
@media (prefers-color-scheme:dark){
:root{--well:#0e1116}
.ready{--mark:#4fd17f;--tint:#15321f}
.not-ready{--mark:#f5b95c;--tint:#3a2a12}
}
main{min-width:0;max-width:608px}
header{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:12px}
.state{display:inline-flex;align-items:center;gap:8px;padding:4px 12px 4px 10px;border-radius:99px;background:var(--tint);color:var(--mark);font-size:.875rem;font-weight:600}
.state::before{content:"";width:8px;height:8px;border-radius:50%;background:currentColor}
p{margin-top:10px;color:var(--soft);overflow-wrap:anywhere}
a{color:inherit}
h2{margin-top:28px;font-size:1rem;font-weight:650}
pre{margin-top:10px;padding:12px 14px;border:1px solid var(--edge);border-radius:10px;background:var(--well);white-space:pre-wrap;overflow-wrap:anywhere}
code{font:13px/1.6 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
`

/**
 * A static HTML page that says what runs here and how to connect. It loads nothing and contains no secret.
 * @param url the origin of the service, as the reader of the page would type it
 */
export function renderStatusPage(url: string, version: string | undefined, isReady: boolean): HtmlPage {
  const [status, className, words] = isReady ? [200, 'ready', 'Ready'] : [503, 'not-ready', 'Not ready']
  const content = html`<header><h1>Chat service</h1><span class="state" role="status">${words}</span></header>
<p>A chatctl service is running at <strong>${url}</strong>. Use it from the terminal, or from a program with an API key.</p>
<h2>Sign in</h2>
<p>In the browser, with an account on this service:</p>
<pre><code>chatctl auth login --profile team \\
  --base-url ${url}</code></pre>
<p>If an admin gave you an API key, add <code>--with-api-key</code>. To see where you are signed in, open <a href="${paths.account}">your account</a>.</p>
<h2>Chat</h2>
<pre><code>chatctl chat --profile team
chatctl chat send --profile team "Hello"</code></pre>
<h2>Send requests</h2>
<p>Requests are JSON, with the key in a header:</p>
<pre><code>curl ${url}/v1/chat/models \\
  -H "Authorization: Bearer $CHATCTL_API_KEY"</code></pre>`
  const footer = `chatctl${version === undefined ? '' : ` ${version}`} · More: chatctl --help`
  return renderPage({ status, title: 'Chat service', style, className, content, footer })
}
