import type { Advice } from '../../contract/advice.ts'
import { isLoopback } from '../../contract/base-url.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { type FailedRequest, Failure, networkErrors } from '../../contract/failure.ts'
import { describeDuration } from '../../system/clock.ts'
import { Expired, type Interrupted } from '../response/open-response.ts'

/** TLS error codes of Node, of the verification in OpenSSL (`X509_V_ERR_` without the prefix), and of undici. */
const tlsCode =
  /^(CERT_|CRL_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|EPROTO$|UND_ERR_PRX_TLS)/

/** Whether another attempt would fail, too: an untrusted certificate or an unknown host, for example. */
export function isHopeless(interrupted: Interrupted): boolean {
  const code = codeOf(interrupted.cause)
  return (
    code === 'ENOTFOUND' || tlsCode.test(code) || isProxyRefusal(interrupted) || code === 'UND_ERR_DESTROYED'
  )
}

/** OpenSSL's codes for a first record that is not TLS (RFC 8446 section 5.1). */
const notTls = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

/** Codes of a wrong address, or of a service that does not run. */
const addressCodes = new Set(['ENOTFOUND', 'ECONNREFUSED'])

/** One interruption in words: `connection refused`, `no response within 60 s`. */
export function describeInterruption(interrupted: Interrupted): string {
  const { cause } = interrupted
  if (cause instanceof Expired) return `no response within ${describeDuration(cause.ms)}`
  const code = codeOf(cause)
  if (isConnectTimeout(code)) return 'connection timed out'
  if (isProxyRefusal(interrupted)) return `the proxy refused the connection: ${messageOf(cause)}`
  if (tlsCode.test(code)) return messageOf(cause)
  // Undici documents a code for these errors, but sets none.
  if (cause instanceof Error && cause.name === 'HTTPParserError') return 'the response is not HTTP'
  return networkErrors[code] ?? messageOf(cause)
}

/**
 * The failure for an interrupted request that is not sent again. `truncated` if the response had begun.
 */
export function networkFailure(
  interrupted: Interrupted,
  request: FailedRequest,
  env: NodeJS.ProcessEnv,
): Failure {
  const { cause, stage } = interrupted
  const url = new URL(request.url)
  const { origin } = url
  const what = describeInterruption(interrupted)
  const unknownHint = unknownOutcomeHint(request, stage !== 'connect')
  const unknown = unknownHint === undefined ? {} : { hint: unknownHint, isOutcomeUnknown: true }
  const code = codeOf(cause)
  const proxied = stage === 'connect' ? describeProxy(url, env) : undefined
  if (notTls.has(code) && proxied === undefined) {
    return new Failure('tls', `Cannot reach ${origin}: the server does not speak TLS`, {
      cause,
      request,
      advice: [{ code: 'other_scheme', url: `http://${url.host}` }],
    })
  }
  if (tlsCode.test(code)) {
    return new Failure('tls', `Cannot open a TLS connection to ${origin}: ${what}`, {
      cause,
      request,
      isOutcomeUnknown: unknownHint !== undefined,
      hint: 'If your organization has its own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.',
    })
  }
  if (cause instanceof Expired) {
    const advice = [longerTimeout(cause)]
    const words = `No response from ${origin} within ${describeDuration(cause.ms)}`
    return new Failure('timeout', words, { cause, request, ...unknown, advice })
  }
  if (stage === 'connect') {
    const reached = proxied && !isProxyRefusal(interrupted) ? `${proxied.name} for ${origin}` : origin
    const kind = isConnectTimeout(code) ? 'timeout' : 'unreachable'
    const address: Advice[] = addressCodes.has(code) ? [{ code: 'check_address', origin }] : []
    const advice = proxied ? [proxied.advice] : address
    return new Failure(kind, `Cannot reach ${reached}: ${what}`, { cause, request, advice })
  }
  if (stage === 'body') {
    return new Failure('truncated', `The response from ${origin} was truncated: ${what}`, {
      cause,
      request,
      ...unknown,
    })
  }
  return new Failure('unreachable', `No response from ${origin}: ${what}`, { cause, request, ...unknown })
}

/** The proxy of an address, without its user name and password. */
function describeProxy(url: URL, env: NodeJS.ProcessEnv) {
  const proxy = proxyFor(url, env)
  if (proxy === undefined) return undefined
  const variable = proxyVariable(url, env)
  const advice: Advice = { code: 'bypass_proxy', variable, host: url.hostname }
  return { name: `the proxy ${proxy.protocol}//${proxy.host} (${variable})`, advice }
}

/**
 * The hint for a request whose outcome is unknown. Undefined if the request changed nothing.
 *
 * @param arrived whether it may have reached the service
 */
export function unknownOutcomeHint(request: FailedRequest, arrived: boolean): string | undefined {
  if (!arrived || !mayChange(request)) return undefined
  return 'The request may have taken effect. Check before you send it again.'
}

/** Whether a request can change something. The service stores nothing of a completion. */
export function mayChange({ method, url }: FailedRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const { method: completes, path } = endpoints.createCompletion
  return method !== completes || !new URL(url).pathname.endsWith(path)
}

export function longerTimeout({ ms }: Expired): Advice {
  return { code: 'longer_timeout', ms }
}

function isConnectTimeout(code: string): boolean {
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
}

/** Undici reports a proxy that denies a tunnel as an abort. */
function isProxyRefusal(interrupted: Interrupted): boolean {
  return interrupted.stage === 'connect' && codeOf(interrupted.cause) === 'UND_ERR_ABORTED'
}

/** The code of an error, of the first of several (one for each address), or of its cause. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const own = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (own.startsWith('UND_ERR_PRX') || own === '') {
    const inner = error instanceof AggregateError ? error.errors[0] : error.cause
    return codeOf(inner) || own
  }
  return own
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

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
function proxyVariable({ protocol }: URL, env: NodeJS.ProcessEnv): string {
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
