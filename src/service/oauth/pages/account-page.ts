import { Html, type HtmlPage, html } from '../../../pages/page.ts'
import type { SignInSession } from '../browser/sign-in-sessions.ts'
import { paths } from '../metadata.ts'
import { type Notice, renderOAuthPage, writeNotice } from './oauth-page.ts'

interface AccountFacts extends Notice {
  email: string
  /** The token of all forms of the page. */
  token: string
  /** The id of the session of this browser. */
  ownId: string
  sessions: readonly SignInSession[]
  hasSecondFactor: boolean
  /** A second factor before its first code. */
  unconfirmed: { secret: string; svg: string } | undefined
}

/** Sign-in sessions, password, and second factor of the user who is signed in. */
export function accountPage(account: AccountFacts): HtmlPage {
  const content = html`<p>You are signed in as <b>${account.email}</b>.</p>
${writeNotice(account)}
${writeSessions(account)}
${writePassword(account)}
${writeSecondFactor(account)}`
  return renderOAuthPage('Your account', content, { notice: account, isWide: true })
}

export function signedOutPage(): HtmlPage {
  const content = html`<p role="status">This browser is signed out. Programs that you signed in stay signed in.</p>
<p><a href="${paths.signIn}">Sign in again</a></p>`
  return renderOAuthPage('Signed out', content)
}

/** A form of the account page. Its fields and buttons define the action. */
const form = ({ token }: AccountFacts, content: Html) => html`<form method="post" action="${paths.account}">
<input type="hidden" name="token" value="${token}">
${content}
</form>`

const button = (action: string, words: string, isStrong = false) =>
  html`<button${isStrong && new Html(' class="strong"')} name="do" value="${action}">${words}</button>`

function writeSessions(account: AccountFacts): Html {
  const { sessions, ownId } = account
  return html`<section aria-labelledby="sessions">
<h2 id="sessions">Where you are signed in</h2>
<ul>
${sessions.map((session) => {
  const isOwn = session.id === ownId
  return html`<li><div>${isOwn ? 'This browser' : nameOf(session)}<small>${describe(session)}</small><small>${session.agent}</small></div>
${form(
  account,
  html`<input type="hidden" name="id" value="${session.id}">
${isOwn ? button('sign-out', 'Sign out') : button('end', 'End sign-in session')}`,
)}</li>`
})}
</ul>
${sessions.length > 1 && form(account, button('end-others', 'End all other sign-in sessions'))}
</section>`
}

/** The program, by the first word of its User-Agent, and what it may do. */
function nameOf({ kind, agent, scope }: SignInSession): string {
  if (kind === 'browser') return 'A browser'
  return `${agent.split(/[/ ]/, 1)[0] || 'A program'}: ${scope}`
}

function describe({ address, created_at: startedAt, last_used_at: last }: SignInSession): string {
  const from = address === '' ? '' : ` from ${address}`
  return `since ${minuteOf(startedAt)}, last used ${minuteOf(last)}${from}`
}

/** `2026-03-01 12:30 UTC`: without a script, the time zone of the user is unknown. */
export const minuteOf = (moment: string): string => `${moment.slice(0, 16).replace('T', ' ')} UTC`

const currentPassword = (id: string) => html`<label for="${id}">Current password</label>
<input id="${id}" name="password" type="password" autocomplete="current-password" required maxlength="1024">`

function writePassword(account: AccountFacts): Html {
  return html`<section aria-labelledby="password">
<h2 id="password">Password</h2>
<p>Changing the password ends all your other sessions.</p>
${form(
  account,
  html`<input type="hidden" name="username" value="${account.email}" autocomplete="username">
${currentPassword('current')}
<label for="new">New password</label>
<input id="new" name="new" type="password" autocomplete="new-password" required minlength="8" maxlength="1024">
<div class="buttons">${button('password', 'Change password')}</div>`,
)}
</section>`
}

function writeSecondFactor(account: AccountFacts): Html {
  return html`<section aria-labelledby="factor">
<h2 id="factor">Second factor</h2>
${account.hasSecondFactor ? writeOn(account) : account.unconfirmed ? writeBegun(account, account.unconfirmed) : writeOff(account)}
</section>`
}

const writeOff = (
  account: AccountFacts,
) => html`<p>The second factor is off. If you turn it on, signing in also requires a code from an authenticator app.</p>
${form(
  account,
  html`${currentPassword('factor-password')}
<div class="buttons">${button('factor-begin', 'Turn on')}</div>`,
)}`

const writeBegun = (account: AccountFacts, { secret, svg }: { secret: string; svg: string }) => html`
<p>Scan the QR code with your authenticator app, or type the secret into it. Then enter the code that it shows.</p>
<div class="qr" role="img" aria-label="QR code of the secret">${new Html(svg)}</div>
<p>Secret: <code>${secret.match(/.{1,4}/g)?.join(' ')}</code></p>
${form(
  account,
  html`<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]{6,7}" required autofocus>
<div class="buttons">${button('factor-confirm', 'Turn on', true)}<button name="do" value="factor-cancel" formnovalidate>Cancel</button></div>`,
)}`

const writeOn = (
  account: AccountFacts,
) => html`<p>The second factor is on. Signing in requires a code from your authenticator app.</p>
${form(
  account,
  html`${currentPassword('factor-password')}
<div class="buttons">${button('factor-recovery', 'Show recovery code')}${button('factor-off', 'Turn off')}</div>`,
)}`
