import { type HtmlPage, html } from '../../../pages/page.ts'
import type { DeviceRequest } from '../device-requests.ts'
import { paths } from '../metadata.ts'
import { minuteOf } from './account-page.ts'
import { type Notice, renderOAuthPage, writeNotice } from './oauth-page.ts'

interface DeviceForm {
  /** Who is signed in. */
  email: string
  /** Protects against cross-site request forgery. */
  token: string
}

/** Asks for the code that a program shows. @param other where another user signs in */
export function userCodePage(form: DeviceForm & Notice & { other: string }, userCode: string): HtmlPage {
  const content = html`<p>A program on another device shows a code. Enter it to sign the program in. You are signed in as <b>${form.email}</b>.</p>
${writeNotice(form)}
<form method="post" action="${paths.device}">
<input type="hidden" name="token" value="${form.token}">
<label for="code">Code</label>
<input id="code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required value="${userCode}" autofocus>
<div class="buttons">
<button class="strong">Continue</button>
</div>
<p class="hint"><a href="${form.other}">Use another account</a></p>
</form>`
  return renderOAuthPage('Sign in a program', content, { notice: form })
}

/** Shows which program asks, and for what. RFC 8628 section 5.4: a code may come from an attacker. */
export function deviceConsentPage(request: DeviceRequest, form: DeviceForm & { rights: string[] }): HtmlPage {
  const facts = [
    ['Code', request.userCode],
    ['Program, as it names itself', request.agent || 'unknown'],
    ['Network address', request.address || 'unknown'],
    ['Requested', minuteOf(request.requestedAt)],
  ]
  const content = html`<p>A program on another device asks for permission to do the following. You are signed in as <b>${form.email}</b>.</p>
<ul>${form.rights.map((words) => html`<li><div>${words}</div></li>`)}</ul>
<ul>${facts.map(([name, value]) => html`<li><div>${value}<small>${name}</small></div></li>`)}</ul>
<form method="post" action="${paths.device}">
<input type="hidden" name="token" value="${form.token}">
<input type="hidden" name="user_code" value="${request.userCode}">
<p class="hint">Allow it only if you started this sign-in yourself, and if your program shows this code.</p>
<div class="buttons">
<button class="strong" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Cancel</button>
</div>
</form>`
  return renderOAuthPage('Allow chatctl to use your account?', content)
}

/** The program has yet to ask for the result. */
export function decidedPage(decision: 'allow' | 'deny'): HtmlPage {
  return decision === 'allow'
    ? renderOAuthPage(
        'Allowed',
        html`<p role="status">Return to the program, which continues in a few seconds. You can close this tab.</p>`,
      )
    : renderOAuthPage(
        'Canceled',
        html`<p role="status">The program gets no access. You can close this tab.</p>`,
      )
}
