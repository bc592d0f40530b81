import { paths } from '../metadata.ts'
import { html } from './html.ts'
import { type Page, renderPage } from './page.ts'

/**
 * Says what cannot be done, and what to do instead.
 * @param retryAfter seconds
 */
export function errorPage(status: number, title: string, sentence: string, retryAfter?: number): Page {
  return renderPage(title, html`<p role="alert">${sentence}</p>`, { status, retryAfter })
}

/** A person has left. */
export function signedOutPage(): Page {
  const content = html`<p role="status">This browser is signed out. Programs that you signed in stay so.</p>
<p><a href="${paths.signIn}">Sign in again</a></p>`
  return renderPage('Signed out', content)
}
