import { type Html, type HtmlPage, html } from '../../../pages/page.ts'
import { type Notice, renderOAuthPage, writeNotice } from './oauth-page.ts'

/** The common part of the forms of a sign-in. */
export interface SignInForm extends Notice {
  /** The path that the form is sent to. */
  action: string
  /** Protects against cross-site request forgery. */
  token: string
  /** The redirect URI of the program that began the sign-in; undefined if no program did. */
  redirectUri: string | undefined
}

export function signInPage(form: SignInForm, email: string): HtmlPage {
  return renderForm(
    'Sign in',
    form,
    html`<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${email}"${email === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"${email !== '' && html` autofocus`}>`,
    'Sign in',
  )
}

/** Asks for the code of an authenticator app. */
export function codePage(form: SignInForm): HtmlPage {
  return renderForm(
    'Enter your code',
    form,
    html`<p class="hint">Your authenticator app shows six digits for chatctl. If you have lost it, enter your recovery code.</p>
<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]{6,23}" required autofocus>`,
    'Continue',
  )
}

/** Shows what a program requests, and asks for consent. */
export function consentPage(
  form: SignInForm,
  about: { email: string; rights: string[]; other: string },
): HtmlPage {
  const program = new URL(form.redirectUri ?? '').host
  return renderForm(
    'Allow chatctl to use your account?',
    form,
    html`<p>A program on your machine (<b>${program}</b>) asks for permission to do the following. You are signed in as <b>${about.email}</b>.</p>
<ul>${about.rights.map((words) => html`<li><div>${words}</div></li>`)}</ul>
<p class="hint">Allow it only if you started this sign-in yourself. <a href="${about.other}">Use another account</a></p>`,
    'Allow',
  )
}

function renderForm(title: string, form: SignInForm, fields: Html, agree: string): HtmlPage {
  const { action, token, redirectUri } = form
  const content = html`${writeNotice(form)}
<form method="post" action="${action}">
<input type="hidden" name="token" value="${token}">
${fields}
<div class="buttons">
<button class="strong" name="decision" value="allow">${agree}</button>
${redirectUri !== undefined && html`<button name="decision" value="deny" formnovalidate>Cancel</button>`}
</div>
</form>`
  return renderOAuthPage(title, content, { notice: form, redirectUri })
}
