import { isLoopback } from '../contract/base-url.ts'

/**
 * The proxy that requests to an address go through, as undici's `EnvHttpProxyAgent` chooses it.
 *
 * @returns undefined for none; also for one that is no URL, which the first request will say
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

/** The variable that says which proxy there is for an address, whether it says one or not. */
export function proxyVariable({ protocol }: URL, env: NodeJS.ProcessEnv): string {
  const nameOf = (lower: string): string => (env[lower] === undefined ? lower.toUpperCase() : lower)
  const https = nameOf('https_proxy')
  // A plain request has no other proxy; a secured one makes do with it.
  return protocol === 'https:' && env[https] ? https : nameOf('http_proxy')
}

/** `host`, `.host` and `host:port` mean the host and all below it, `*.host` only those, `*` every host. */
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
