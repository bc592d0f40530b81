import { Failure } from './failure.ts'

/** Whether a host, with or without a URL's brackets, is this machine: 127.0.0.0/8, ::1 or localhost. */
export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || /^127(\.\d+){3}$/.test(host)
}

/**
 * Reads the address of a service (docs/interface.md, "Endpoints"). A path in it is a prefix of every path
 * of the interface.
 *
 * @param name of the address, for errors
 * @throws Failure `refused`: not a URL, plain HTTP to another machine, user info, query, fragment
 */
export function readBaseUrl(text: string, name = 'base URL'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The text is not echoed before we know that it holds no password.
  if (!url?.hostname) {
    throw refused(`the ${name} is not a URL`, 'Write it as https://host or https://host/prefix.')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`the ${name} must begin with https://, not ${url.protocol}//`)
  }
  if (url.username || url.password) {
    throw refused(
      `the ${name} of ${url.host} holds a user name or password`,
      'Leave it out: requests carry an API key.',
    )
  }
  // `https://host/?` has an empty search but is still not what anybody meant.
  if (/[?#]/.test(text)) throw refused(`the ${name} of ${url.host} must have no query and no fragment`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refused(
      `plain http:// to ${url.host} would send the credential unencrypted`,
      `Use https://${url.host}.`,
    )
  }
  return url
}

/**
 * Reads the address of an authorization, token or revocation endpoint: like a base URL, but the whole
 * of it is used as it is, and a query is allowed (RFC 6749 sections 3.1 and 3.2).
 *
 * @throws Failure `refused`: a code or a token must not travel unencrypted
 */
export function readEndpoint(address: unknown, name: string): string {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined
  if (!url || url.hash || url.pathname.startsWith('//')) {
    throw refused(`the ${name} is not a URL that can be used`, 'Write it as https://host/path.')
  }
  readBaseUrl(url.origin + url.pathname, name)
  if (url.username || url.password) throw refused(`the ${name} of ${url.host} holds a user name or password`)
  return url.href
}

function refused(message: string, hint?: string): Failure {
  return new Failure('refused', message, hint === undefined ? {} : { hint })
}
