import { Browser } from '../service/oauth/browser.ts'

/** The last page that the browser shows. */
export interface FinalPage {
  /** The redirect URI with the parameters of the authorization server. */
  url: string
  status: number
  headers: Headers
  text: string
}

interface PersonOptions {
  /** Denies consent. */
  deny?: boolean
}

/**
 * Acts as a browser and its user, up to the page of the loopback listener.
 *
 * @param address the authorization URL, or a start page that leads there
 */
export async function signInByHttp(address: string, options: PersonOptions = {}): Promise<FinalPage> {
  if (new URL(address).searchParams.has('client_id')) return openPage(await agreeByHttp(address, options))
  const { authorizationUrl, cookie } = await openStartPage(address)
  return openPage(await agreeByHttp(authorizationUrl, options), cookie)
}

/** Opens the page that binds a sign-in to the browser. */
export async function openStartPage(address: string): Promise<{ authorizationUrl: string; cookie: string }> {
  const { status, headers } = await openPage(address)
  const [[cookie = ''] = []] = headers.getSetCookie().map((line) => line.split(';'))
  const authorizationUrl = headers.get('location')
  if (authorizationUrl === null) throw new Error(`${address} answered ${status}`)
  return { authorizationUrl, cookie }
}

/** Acts as a browser up to the redirect, and returns its address, which a user would paste. */
export async function agreeByHttp(authorizationUrl: string, options: PersonOptions = {}): Promise<string> {
  return (await followForms(authorizationUrl, options)).url
}

/**
 * Acts as the browser and the user of a sign-in on another device.
 *
 * @param userCode not needed if the address contains it
 * @returns the last page of the authorization server
 */
export async function enterCodeByHttp(
  address: string,
  userCode?: string,
  options: PersonOptions = {},
): Promise<string> {
  const fields: Record<string, string> = userCode === undefined ? {} : { user_code: userCode }
  return (await followForms(address, options, fields)).page
}

/** Submits one form after another, up to a redirect to another origin or a page without a form. */
async function followForms(
  address: string,
  { deny = false }: PersonOptions,
  fields: Record<string, string> = {},
): Promise<{ url: string; page: string }> {
  const browser = new Browser()
  const { origin } = new URL(address)
  let shown = await browser.open(address)
  // A code, a login, and a consent.
  for (let step = 0; step < 5; step++) {
    const { url, status, text } = shown
    if (new URL(url).origin !== origin) return { url, page: '' }
    if (status >= 400) throw new Error(`${url} answered ${status}: ${text}`)
    if (!text.includes('<form')) return { url, page: text }
    const { action, body } = fillForm(text, url, { decision: deny ? 'deny' : 'allow', ...fields })
    shown = await browser.open(action, { method: 'POST', body })
  }
  throw new Error(`${address} leads nowhere`)
}

/** Opens the redirect URI as a browser does. */
export async function openPage(url: string, cookie = ''): Promise<FinalPage> {
  const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
  return { url, status: response.status, headers: response.headers, text: await response.text() }
}

/** Fills in a form: fields without a value get a name. */
function fillForm(page: string, url: string, fields: Record<string, string>) {
  const action = /<form\b[^>]* action="([^"]+)"/.exec(page)?.[1]
  if (action === undefined) throw new Error(`${url} holds no form: ${page}`)
  const body = new URLSearchParams(fields)
  for (const [input] of page.matchAll(/<input\b[^>]*>/g)) {
    const name = /\bname="([^"]+)"/.exec(input)?.[1] ?? ''
    body.set(name, fields[name] ?? /\bvalue="([^"]*)"/.exec(input)?.[1] ?? 'ada')
  }
  return { action: new URL(action, url).href, body }
}
