import { Failure } from './failure.ts'
import { quoteForeign, withoutTrailing } from './notation/text.ts'
import { orElse } from './or-else.ts'

/** Whether a host, with or without a URL's brackets, is this machine: 127.0.0.0/8, ::1 or localhost. */
export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || /^127(\.\d+){3}$/.test(host)
}

/** The scheme, host, and port of a URL; undefined for an invalid one. */
export function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined
}

/** A base URL in one notation: without a slash at its end, except after the host. */
export function serviceUrl(baseUrl: string): string {
  return new URL(withoutTrailing(baseUrl, '/')).href
}

/**
 * Reads the base URL of a service (docs/interface.md, "Endpoints"). Its path is a prefix of every path of the
 * interface.
 * @param name of the address, for errors
 * @throws Failure `refused`: not a URL, plain HTTP to another machine, user info, query, fragment
 */
export function readBaseUrl(text: string, name = 'base URL'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // An invalid URL is not quoted, because it may contain a password.
  if (!url?.hostname) {
    throw refused(`The ${name} is not a URL`, 'Write it as https://HOST or https://HOST/PREFIX.')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`The ${name} must begin with https://, not ${url.protocol}//`)
  }
  if (url.username || url.password) {
    throw refused(
      `The ${name} for ${url.host} contains a user name or password`,
      'Remove it. Requests carry an API key or a token instead.',
    )
  }
  // `https://host/?` is an error too, although its `search` is empty.
  if (/[?#]/.test(text)) throw refused(`The ${name} for ${url.host} must not contain a query or a fragment`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refused(`http://${url.host} would send the credential unencrypted`, `Use https://${url.host}.`)
  }
  return url
}

/**
 * Reads the address of an authorization, token, or revocation endpoint. Unlike a base URL, it is used unchanged,
 * and may have a query (RFC 6749 sections 3.1 and 3.2).
 * @param issuer whose metadata names the address. It may name a plain address only if it is on loopback itself.
 * @throws Failure `refused`, also because a code or a token must not be sent unencrypted
 */
export function readEndpoint(address: unknown, name: string, issuer?: URL): string {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined
  if (!url || url.hash || url.pathname.startsWith('//')) {
    throw refused(`The ${name} is not a valid URL`, 'Write it as https://HOST/PATH.')
  }
  readBaseUrl(url.origin + url.pathname, name)
  if (url.protocol === 'http:' && issuer && !isLoopback(issuer.hostname)) {
    throw refused(`${issuer.origin} names a program of this machine as its ${name}: ${url.origin}`)
  }
  if (url.username || url.password)
    throw refused(`The ${name} for ${url.host} contains a user name or password`)
  return url.href
}

/** The same; undefined for an address that it refuses. */
export function optionalEndpoint(address: unknown, issuer?: URL): string | undefined {
  return orElse(() => readEndpoint(address, 'endpoint', issuer), undefined)
}

export function refused(message: string, hint?: string): Failure {
  return new Failure('refused', message, { hint })
}

/** The service of a plan or of a state file, for a person. */
export function nameOfService(service: string): string {
  return service === 'local' ? 'the embedded service' : quoteForeign(service)
}
