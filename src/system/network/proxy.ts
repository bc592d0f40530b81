import { BlockList } from 'node:net'
import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'

/** A proxy that the environment names. */
export interface ProxyServer {
  /** Its scheme, such as `socks5h:`. */
  scheme: string
  hostname: string
  port: string
  username: string
  password: string
  /** How errors name it: the variable, and the URL without user name and password. */
  named: { variable: string; address: string }
}

/** The schemes of proxies and servers, with their default ports. */
export const defaultPorts: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'socks5:': '1080',
  'socks5h:': '1080',
}

/**
 * The proxy for an address. Loopback addresses have none. As in curl, lower case comes first, and an empty variable
 * is not set. Unlike in curl, HTTPS falls back to the proxy of HTTP.
 * @throws Failure `config` if it is not a valid proxy URL
 */
export function proxyFor({ protocol, hostname, port }: URL, env: NodeJS.ProcessEnv): ProxyServer | undefined {
  if (isLoopback(hostname)) return undefined
  const names =
    protocol === 'https:' ? ['https_proxy', 'all_proxy', 'http_proxy'] : ['http_proxy', 'all_proxy']
  const variable = names.flatMap((name) => [name, name.toUpperCase()]).find((name) => env[name])
  if (variable === undefined) return undefined
  const excepted = (env['no_proxy'] || env['NO_PROXY'] || '').split(/[,\s]/).filter(Boolean)
  const host = bare(hostname).replace(/\.$/, '')
  const isExcepted = excepted.some((entry) =>
    covers(entry.toLowerCase(), host, port || defaultPorts[protocol]),
  )
  return isExcepted ? undefined : readProxy(env[variable] ?? '', variable)
}

/** The value may contain a password, so no error quotes it. */
function readProxy(text: string, variable: string): ProxyServer {
  const hint =
    'Write it as http://HOST:PORT, or as http://USER:PASSWORD@HOST:PORT with %40 for @, %23 for #, and %2F for /.'
  const invalid = new Failure('config', `${variable} is not a valid proxy URL`, { hint })
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  // A password with one of these characters would end the host, and show as a part of it.
  if (!url?.hostname || /[^/]/.test(url.pathname + url.search + url.hash)) throw invalid
  const { protocol, host } = url
  const port = url.port || defaultPorts[protocol]
  if (port === undefined || !(protocol in defaultPorts)) {
    const words = `${variable} names a proxy that begins with ${protocol}//, which is not supported`
    throw new Failure('config', words, { hint: 'Use http://, https://, socks5://, or socks5h://.' })
  }
  try {
    const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    // RFC 1929: undici would send neither.
    if (protocol.startsWith('socks') && (username === '') !== (password === '')) throw invalid
    const named = { variable, address: `${protocol}//${host}` }
    return { scheme: protocol, hostname: url.hostname, port, username, password, named }
  } catch {
    throw invalid
  }
}

/**
 * `host`, `.host`, and `host:port` cover the host and its subdomains, `*.host` only subdomains, `*` every host, and
 * `10.0.0.0/8` the addresses of a network.
 */
function covers(entry: string, host: string, port: string | undefined): boolean {
  const [network = '', bits] = entry.split('/')
  if (bits) return isWithin(host, network, Number(bits))
  const [, named = entry, only] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? []
  if (only !== undefined && only !== port) return false
  if (named === '*') return true
  const excepted = bare(named.replace(/^\*?\./, '').replace(/\.$/, ''))
  return (host === excepted && !named.startsWith('*')) || host.endsWith(`.${excepted}`)
}

function isWithin(host: string, network: string, bits: number): boolean {
  const familyOf = (address: string) => (address.includes(':') ? 'ipv6' : 'ipv4')
  const list = new BlockList()
  try {
    list.addSubnet(network, bits, familyOf(network))
    return list.check(host, familyOf(host))
  } catch {
    // One of them is not an address.
    return false
  }
}

/** The host of a URL without the brackets of an IPv6 address. */
export const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1')
