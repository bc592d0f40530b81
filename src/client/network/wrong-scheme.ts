import { type FailedRequest, Failure } from '../../contract/failure.ts'
import type { Interrupted } from '../response/open-response.ts'
import { proxyFor } from './proxy-for.ts'

/** A server that closes the connection to a request without TLS does so at once. */
const handshakeTimeout = 1_000

/** OpenSSL's codes for a first record that is not TLS (RFC 8446 section 5.1). */
const notTls = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

/**
 * The failure of a request whose address has the wrong scheme: `https:` for a server without TLS, or
 * `http:` for one that only speaks TLS. Such a server has not seen the request.
 *
 * @returns undefined for any other failure
 */
export async function wrongScheme(
  { cause, stage }: Interrupted,
  request: FailedRequest,
  env: NodeJS.ProcessEnv,
): Promise<Failure | undefined> {
  const url = new URL(request.url)
  if (proxyFor(url, env) !== undefined || !(cause instanceof Error)) return undefined
  const code = 'code' in cause ? String(cause.code) : ''
  if (url.protocol === 'https:' && notTls.has(code)) {
    return failureOf(url, 'the server does not speak TLS', { cause, request })
  }
  const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || cause.name === 'HTTPParserError'
  if (url.protocol !== 'http:' || stage !== 'request' || !isClosed) return undefined
  return (await speaksTls(url)) ? failureOf(url, 'the server requires TLS', { cause, request }) : undefined
}

function failureOf(url: URL, reason: string, help: { cause: unknown; request: FailedRequest }): Failure {
  const other = `${url.protocol === 'https:' ? 'http' : 'https'}://${url.host}`
  return new Failure('tls', `Cannot reach ${url.origin}: ${reason}`, {
    ...help,
    advice: [{ code: 'other_scheme', url: other }],
  })
}

/** Sends the beginning of a handshake and nothing else. */
function speaksTls({ hostname, port }: URL): Promise<boolean> {
  const { connect } = process.getBuiltinModule('node:tls')
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    // No data is sent, so it does not matter whose certificate it is.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false })
    const end = (speaks: boolean) => {
      socket.destroy()
      resolve(speaks)
    }
    socket.once('secureConnect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(handshakeTimeout, () => end(false))
  })
}
