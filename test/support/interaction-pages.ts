import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'

/** The path of the pages. */
export const interactionPath = '/interaction/'

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** Shows the page of an interaction on GET, and handles the submitted form on POST. */
export async function handleInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') return showPage(interaction, response)
  const form = new URLSearchParams(await text(request))
  const result = await decide(provider, interaction, form)
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

async function decide(
  provider: Provider,
  { prompt, params, session }: Interaction,
  form: URLSearchParams,
): Promise<Parameters<Provider['interactionFinished']>[2]> {
  if (form.get('decision') === 'deny') {
    return { error: 'access_denied', error_description: 'The user denied the request' }
  }
  if (prompt.name === 'login') return { login: { accountId: form.get('user') ?? '' } }
  const grant = new provider.Grant({
    accountId: session?.accountId,
    clientId: String(params['client_id']),
  })
  grant.addOIDCScope(String(params['scope'] ?? ''))
  return { consent: { grantId: await grant.save() } }
}

/** Plain forms, which a browser or `sign-in-by-http.ts` can fill in. */
function showPage({ uid, prompt, params }: Interaction, response: ServerResponse): void {
  const isLogin = prompt.name === 'login'
  const fields = isLogin
    ? '<label>Name <input name="user"></label> <label>Password <input name="password" type="password"></label>'
    : `<p>It asks for: ${escapeHtml(String(params['scope'] ?? ''))}</p>`
  const title = isLogin ? 'Log in' : 'Consent'
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>
<html lang="en"><head><title>${title}</title><link rel="icon" href="data:,"></head><body><h1>${title}</h1>
<form method="post" action="${interactionPath}${uid}">
${fields}
<button name="decision" value="allow">Go on</button>
<button name="decision" value="deny">Deny</button>
</form></body></html>`)
}

function escapeHtml(words: string): string {
  return words.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
