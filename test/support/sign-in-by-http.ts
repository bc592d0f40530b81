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
  const cookies = new CookieJar()
  const { origin } = new URL(address)
  let request = new Request(address)
  // A code, a login, and a consent, each with a page, a form, and two redirects.
  for (let step = 0; step < 20; step++) {
    const { url } = request
    if (new URL(url).origin !== origin) return { url, page: '' }
    request.headers.set('cookie', cookies.for(url))
    const response = await fetch(request, { redirect: 'manual' })
    cookies.take(url, response.headers.getSetCookie())
    const location = response.headers.get('location')
    const page = await response.text()
    if (location !== null) request = new Request(new URL(location, url))
    else if (!response.ok) throw new Error(`${url} answered ${response.status}: ${page}`)
    else if (!page.includes('<form')) return { url, page }
    else request = submitForm(page, url, { decision: deny ? 'deny' : 'allow', ...fields })
  }
  throw new Error(`${address} leads nowhere`)
}

/** Opens the redirect URI as a browser does. */
export async function openPage(url: string, cookie = ''): Promise<FinalPage> {
  const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
  return { url, status: response.status, headers: response.headers, text: await response.text() }
}

/** Fills in a form: fields without a value get a name. */
function submitForm(page: string, url: string, fields: Record<string, string>): Request {
  const action = /<form\b[^>]* action="([^"]+)"/.exec(page)?.[1]
  if (action === undefined) throw new Error(`${url} holds no form: ${page}`)
  const body = new URLSearchParams(fields)
  for (const [input] of page.matchAll(/<input\b[^>]*>/g)) {
    const name = /\bname="([^"]+)"/.exec(input)?.[1] ?? ''
    body.set(name, fields[name] ?? /\bvalue="([^"]*)"/.exec(input)?.[1] ?? 'ada')
  }
  return new Request(new URL(action, url), { method: 'POST', body })
}

/** The part of RFC 6265 that matters for two servers on loopback: name and path. */
class CookieJar {
  readonly #cookies = new Map<string, { path: string; pair: string }>()

  take(url: string, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = ''] = line.split(';')
      const [name = ''] = pair.split('=')
      const path = /; ?path=([^;]+)/i.exec(line)?.[1] ?? new URL(url).pathname
      const gone = /; ?expires=Thu, 01 Jan 1970/i.test(line)
      if (gone) this.#cookies.delete(`${name} ${path}`)
      else this.#cookies.set(`${name} ${path}`, { path, pair })
    }
  }

  for(url: string): string {
    const { pathname } = new URL(url)
    const fitting = [...this.#cookies.values()].filter(({ path }) => pathname.startsWith(path))
    return fitting.map(({ pair }) => pair).join('; ')
  }
}
