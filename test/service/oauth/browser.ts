/** A response with its page. */
export interface Shown {
  url: string
  status: number
  headers: Headers
  text: string
}

/**
 * The parts of a browser that a sign-in needs: cookies by name and path, forms with their hidden fields, and
 * redirects within one origin.
 */
export class Browser {
  readonly cookies = new Map<string, { path: string; name: string; value: string }>()
  readonly #headers: Record<string, string>

  constructor(headers: Record<string, string> = {}) {
    this.#headers = headers
  }

  /** Opens an address, and follows redirects until they lead to another origin. */
  async open(address: string, init: RequestInit = {}): Promise<Shown> {
    let shown = await this.send(address, init)
    for (let step = 0; step < 10; step++) {
      const location = shown.headers.get('location')
      if (location === null) return shown
      const next = new URL(location, shown.url)
      if (next.origin !== new URL(address).origin) return { ...shown, url: next.href }
      shown = await this.send(next.href, {})
    }
    throw new Error(`${address} leads nowhere`)
  }

  /** Sends one request, without following redirects. */
  async send(address: string, init: RequestInit): Promise<Shown> {
    const url = new URL(address)
    const cookie = [...this.cookies.values()]
      .filter(({ path }) => url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const headers = {
      ...this.#headers,
      ...(cookie && { cookie }),
      ...(init.headers as Record<string, string>),
    }
    const response = await fetch(address, { redirect: 'manual', ...init, headers })
    this.#take(url, response.headers.getSetCookie())
    return { url: address, status: response.status, headers: response.headers, text: await response.text() }
  }

  /** Submits a page’s form, with its hidden fields and the given ones. */
  submit(page: Shown, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Shown> {
    const { action, body } = readForm(page, fields)
    const { origin } = new URL(action)
    return this.open(action, { method: 'POST', body, headers: { origin, ...headers } })
  }

  #take(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(/; ?/)
      const name = pair.slice(0, pair.indexOf('='))
      const path = attributes.find((text) => /^path=/i.test(text))?.slice(5) ?? defaultPath(url)
      const isGone = attributes.some((text) => /^expires=Thu, 01 Jan 1970/i.test(text))
      if (isGone) this.cookies.delete(`${name} ${path}`)
      else this.cookies.set(`${name} ${path}`, { path, name, value: pair.slice(name.length + 1) })
    }
  }
}

/** RFC 6265 section 5.1.4. */
function defaultPath({ pathname }: URL): string {
  return pathname.slice(0, pathname.lastIndexOf('/')) || '/'
}

/** The first form that has the value of the field `do`, or else the first form of all. */
export function readForm(
  page: Shown,
  fields: Record<string, string>,
): { action: string; body: URLSearchParams } {
  const forms = [...page.text.matchAll(/<form method="post" action="([^"]+)">(.*?)<\/form>/gs)]
  const { do: wish } = fields
  // An action that the page does not offer is sent with the token of one that it offers.
  const wanted =
    forms.find(([, , inside = '']) => wish === undefined || inside.includes(`value="${wish}"`)) ?? forms[0]
  if (!wanted) throw new Error(`no such form at ${page.url}: ${page.status} ${page.text.slice(-1500)}`)
  const [, action = '', inside = ''] = wanted
  const body = new URLSearchParams()
  for (const [, name = '', value = ''] of inside.matchAll(
    /<input type="hidden" name="([^"]+)" value="([^"]*)"/g,
  ))
    body.set(name, value)
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  return { action: new URL(action, page.url).href, body }
}
