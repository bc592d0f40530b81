import type { ProxyServer } from './proxy.ts'

/**
 * The progress of a request. `connect`: no server has taken the request, so any method can be
 * sent again. `request`: it may have arrived. `body`: the response has begun.
 */
export type Stage = 'connect' | 'request' | 'body'

/** What failed between this program and a server. */
interface NetworkFault {
  kind: 'tls' | 'timeout' | 'unreachable'
  code: string
  /** Without an address, so that a service may send them to its clients. */
  words: string
  /** In more words, for the user whose request it is. */
  details: string
  /** The proxy that failed. */
  proxy: ProxyServer['named'] | undefined
  /** Whether the proxy responded, and did not connect. */
  isRefusal: boolean
  /** Whether another attempt would fail, too: an untrusted certificate or an unknown host, for example. */
  isHopeless: boolean
}

/** An HTTP proxy responds with another status than 2xx. */
export const proxyRefusal = 'PROXY_REFUSED'

/** A server that closes a connection of plain HTTP speaks TLS. */
export const tlsOnly = 'TLS_ONLY'

/** Codes of Node, OpenSSL, and undici, and the one above. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EADDRNOTAVAIL: 'no local address available',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'nothing arrived in time',
  UND_ERR_BODY_TIMEOUT: 'nothing arrived in time',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'fewer bytes than its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: 'response headers are too long',
  // Undici documents a code for these errors, but sets none.
  HTTPParserError: 'the response is not HTTP',
  [tlsOnly]: 'the server speaks only TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not speak TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
}

/** TLS error codes of Node, and of the verification in OpenSSL (`X509_V_ERR_` without the prefix). */
const tlsCode =
  /^(CERT_|CRL_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|EPROTO$|TLS_ONLY$)/

/** The authority that has signed the certificate is not known. */
const untrusted = /^(UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/

/** The scheme that the server speaks instead. OpenSSL has two codes for a first record that is not TLS. */
export function otherSchemeOf(code: string): 'http' | 'https' | undefined {
  if (code === tlsOnly) return 'https'
  return /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code) ? 'http' : undefined
}

const trustHint =
  'If your organization has its own certificate authority, set NODE_EXTRA_CA_CERTS to its PEM file, or set NODE_USE_SYSTEM_CA=1 to trust the authorities of the system.'

/** What to do about a certificate that is not trusted, by the code. */
export const trustHintOf = (code: string) => (untrusted.test(code) ? trustHint : undefined)

/** Reads an error of a connection, a tunnel, or a response. */
export function readFault(error: unknown): NetworkFault {
  const proxy =
    error instanceof Error && 'proxy' in error ? (error.proxy as NetworkFault['proxy']) : undefined
  const root = rootOf(proxy ? (error as Error).cause : error)
  const code = codeOf(root)
  const isTls = tlsCode.test(code)
  // OpenSSL has its words in `reason`.
  const { reason, message = String(root) } = Object(root)
  const known = words[code] ?? (untrusted.test(code) ? 'the certificate authority is not trusted' : undefined)
  const isRefusal = code === proxyRefusal || code.startsWith('UND_ERR_SOCKS5')
  return {
    kind: isTls ? 'tls' : /TIMEOUT$|^ETIMEDOUT$/.test(code) ? 'timeout' : 'unreachable',
    code,
    words: known ?? (isRefusal ? message : code || 'connection failed'),
    details: code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `${known} (${reason})` : (known ?? reason ?? message),
    proxy,
    isRefusal,
    isHopeless: code === 'ENOTFOUND' || isTls || isRefusal || code === 'UND_ERR_DESTROYED',
  }
}

/**
 * What failed, in one sentence.
 * @param target the server
 * @param isOwn whether the request is that of the user, who may see the address of the proxy and all details
 */
export function describeFault(fault: NetworkFault, stage: Stage, target: string, isOwn: boolean): string {
  const { kind, code, words, details, proxy, isRefusal } = fault
  const reason = isOwn ? details : words
  if (stage === 'body') return `The response from ${target} was truncated: ${reason}`
  if (stage === 'request') return `No response from ${target}: ${reason}`
  const name = proxy && `the proxy ${isOwn ? `${proxy.address} (${proxy.variable})` : `of ${proxy.variable}`}`
  if (isRefusal) return `Cannot reach ${target}: ${name} refused the connection (${reason})`
  const place = name ? `${name} for ${target}` : target
  if (kind !== 'tls' || code === tlsOnly) return `Cannot reach ${place}: ${reason}`
  return `Cannot open a TLS connection to ${place}, so nothing was sent: ${reason}`
}

/** The first of several errors (one for each address), or the cause of an error without a code. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError) return rootOf(error.errors[0])
  return error instanceof Error && codeOf(error) === '' && error.cause ? rootOf(error.cause) : error
}

function codeOf(error: unknown): string {
  const { name, code } = Object(error)
  if (name === 'HTTPParserError') return name
  return typeof code === 'string' ? code : ''
}
