import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { TemporaryService } from '../temporary-service.ts'
import { Browser, type Shown } from './browser.ts'

export const password = 'correct horse battery'
export const redirectUri = 'http://127.0.0.1:53123/callback'

/** Creates a user with a password, and with a role if one is given. */
export async function createUser(
  { call }: Pick<TemporaryService, 'call'>,
  email = 'ada@example.com',
  role?: string,
): Promise<string> {
  const { body } = await call('POST', '/v1/users', { email, password })
  if (role !== undefined) await call('POST', `/v1/users/${body.id}/permissions`, { role })
  return body.id
}

/** A request for a code, with the values that later prove where it came from. */
export interface Request {
  url: string
  verifier: string
  state: string
}

/** @param changes parameters that differ from those of a correct client; undefined omits one */
export function askForCode(service: string, changes: Record<string, string | undefined> = {}): Request {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('hex')
  const url = new URL('/oauth/authorize', service)
  const parameters = {
    client_id: 'chatctl',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'chat:write',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...changes,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return { url: url.href, verifier, state }
}

/** Signs in on a sign-in page. */
export const signIn = (browser: Browser, page: Shown, email = 'ada@example.com', secret = password) =>
  browser.submit(page, { email, password: secret, decision: 'allow' })

/** Signs in and allows the request. @returns the parameters that the program receives */
export async function getCode(browser: Browser, { url }: Request, email?: string): Promise<URLSearchParams> {
  let page = await browser.open(url)
  if (page.text.includes('name="password"')) page = await signIn(browser, page, email)
  expect(page.text).to.include('Allow chatctl to use your account?')
  const end = await browser.submit(page, { decision: 'allow' })
  expect(new URL(end.url).origin, end.text).to.equal(new URL(redirectUri).origin)
  return new URL(end.url).searchParams
}

/** A response of the token endpoint. */
export interface TokenResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any
}

export async function askForToken(service: string, fields: Record<string, string>): Promise<TokenResponse> {
  const response = await fetch(`${service}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'chatctl', ...fields }),
  })
  return { status: response.status, body: await response.json() }
}

export const exchange = (service: string, code: string, verifier: string): Promise<TokenResponse> =>
  askForToken(service, {
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
  })

export const refresh = (service: string, token: string): Promise<TokenResponse> =>
  askForToken(service, { grant_type: 'refresh_token', refresh_token: token })

/** Runs the whole flow up to the tokens. */
export async function getTokens(
  service: string,
  { browser = new Browser(), email, scope }: { browser?: Browser; email?: string; scope?: string } = {},
): Promise<{ access_token: string; refresh_token: string; scope: string; expires_in: number }> {
  const request = askForCode(service, scope === undefined ? {} : { scope })
  const parameters = await getCode(browser, request, email)
  const { status, body } = await exchange(service, parameters.get('code') ?? '', request.verifier)
  expect(status, JSON.stringify(body)).to.equal(200)
  return body
}
