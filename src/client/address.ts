import { Failure } from '../failure.ts'

/** Whether a host as `URL.hostname` writes it is this machine: 127.0.0.0/8, ::1 or localhost. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/**
 * Reads a service's base URL. A path in it is a prefix of every path of the interface.
 * @throws Failure `refused`: not a URL, plain HTTP to another machine, user info, query, fragment
 */
export function readBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The text is not echoed before we know that it holds no password.
  if (!url?.hostname) {
    throw refused('the base URL is not a URL', 'Write it as https://host or https://host/prefix.')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`the base URL must begin with https://, not ${url.protocol}//`)
  }
  if (url.username || url.password) {
    throw refused(
      `the base URL of ${url.host} holds a user name or password`,
      'Leave it out: requests carry an API key.',
    )
  }
  // `https://host/?` has an empty search but is still not what anybody meant.
  if (/[?#]/.test(text)) throw refused(`the base URL of ${url.host} must have no query and no fragment`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refused(
      `plain http:// to ${url.host} would send the credential unencrypted`,
      `Use https://${url.host}.`,
    )
  }
  return url
}

/**
 * The URL of a path below a base URL, which it can never leave.
 * @throws Failure `refused` for a path that would
 */
export function resolvePath(base: URL, path: string, query: Record<string, string> = {}): URL {
  checkPath(path)
  const prefix = base.pathname.replace(/\/+$/, '')
  const url = new URL(base.origin + prefix + path)
  // URL also resolves `..` and `%2e%2e`, hence the second look.
  if (url.origin !== base.origin || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    throw refused('the path leaves the base URL')
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  return url
}

/**
 * Refuses what is not an absolute path below the base URL, before anything is looked up.
 * @throws Failure `refused`
 */
export function checkPath(path: string): void {
  if (!path.startsWith('/')) throw refused('the path must begin with /')
  if (path.startsWith('//')) throw refused('the path must not begin with //')
  if (path.includes('\\')) throw refused('the path must not contain a backslash')
  if (path.includes('#')) throw refused('the path must not contain #')
  if (hasControl(path) || !path.isWellFormed()) throw refused('the path contains control characters')
}

/**
 * Puts an identifier into a path: `{id}` of `/v1/users/{id}`, percent-escaped (RFC 3986 section 2.1).
 * @throws Failure `refused` for one that would name another resource or none
 */
export function expandPath(template: string, params: Record<string, string> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => escapeSegment(name, params[name] ?? ''))
}

function escapeSegment(name: string, value: string): string {
  if (value === '') throw refused(`the ${name} must not be empty`)
  if (value === '.' || value === '..') throw refused(`the ${name} must not be "${value}"`)
  if (hasControl(value) || !value.isWellFormed()) throw refused(`the ${name} contains control characters`)
  return encodeURIComponent(value)
}

/** C0 controls, DEL and C1 controls. */
export function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text)
}

function refused(message: string, hint?: string): Failure {
  return new Failure('refused', message, hint === undefined ? {} : { hint })
}
