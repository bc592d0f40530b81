import { isLoopback } from '../../contract/base-url.ts'

/**
 * The proxy for an address. Follows the rules of `EnvHttpProxyAgent` in undici.
 *
 * @returns undefined without a proxy, and for an invalid URL, which the first request reports
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const { protocol, hostname, port } = url
  if (isLoopback(hostname)) return undefined
  const named = env[proxyVariable(url, env)]
  if (!named || !URL.canParse(named)) return undefined
  const wanted = Number(port || (protocol === 'https:' ? 443 : 80))
  const excepted = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[,\s]/).filter(Boolean)
  return excepted.some((entry) => covers(entry, hostname.toLowerCase(), wanted)) ? undefined : new URL(named)
}

/** The environment variable for the proxy of an address, even if it is not set. */
export function proxyVariable({ protocol }: URL, env: NodeJS.ProcessEnv): string {
  const nameOf = (lower: string): string => (env[lower] === undefined ? lower.toUpperCase() : lower)
  const https = nameOf('https_proxy')
  // HTTPS requests fall back to the proxy of HTTP.
  return protocol === 'https:' && env[https] ? https : nameOf('http_proxy')
}

/** `host`, `.host`, and `host:port` cover the host and its subdomains, `*.host` only subdomains, `*` every host. */
function covers(entry: string, hostname: string, port: number): boolean {
  const [, named = entry, only] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? []
  if (only !== undefined && Number(only) !== port) return false
  if (named === '*') return true
  const host = named
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase()
  const isItself = !named.startsWith('*') && bare(host) === bare(hostname)
  return isItself || hostname.endsWith(`.${host}`)
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}
