import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { trustedConnect } from '../../system/trusted-connect.ts'
import { Expired, Interrupted } from '../response/open-response.ts'
import { networkFailure, proxyFor } from './network-failure.ts'

/** The connection to a service, or to its proxy. */
export interface NetworkReport {
  /** `host:port` of the proxy, without user name and password. */
  proxy?: string
  /** The IP address of the connection. */
  address: string
  /** Milliseconds to connect, including the DNS lookup. */
  connectMs: number
  /** TLS of the service. Undefined behind a proxy. */
  tls?: { protocol: string; validTo: Date }
}

/**
 * Connects, and sends no request and no credential.
 *
 * @param timeout in milliseconds
 * @throws Failure `unreachable`, `timeout`, or `tls`, like a request
 */
export async function probeNetwork(
  base: URL,
  { env, timeout }: { env: NodeJS.ProcessEnv; timeout: number },
): Promise<NetworkReport> {
  const proxy = proxyFor(base, env)
  const to = proxy ?? base
  const isSecured = to.protocol === 'https:'
  const host = to.hostname.replace(/^\[(.*)\]$/, '$1')
  const endpoint = { ...trustedConnect, host, port: Number(to.port || (isSecured ? 443 : 80)) }
  const startedAt = performance.now()
  const socket = isSecured ? secure(endpoint) : process.getBuiltinModule('node:net').connect(endpoint)
  try {
    await connected(socket, isSecured ? 'secureConnect' : 'connect', timeout)
    const connectMs = performance.now() - startedAt
    const report = { address: socket.remoteAddress ?? endpoint.host, connectMs }
    if (proxy) return { ...report, proxy: proxy.host }
    return isSecured ? { ...report, tls: describe(socket as TLSSocket) } : report
  } catch (cause) {
    throw networkFailure(new Interrupted('connect', cause), { method: 'GET', url: base.href }, env)
  } finally {
    socket.destroy()
  }
}

function secure(endpoint: { host: string; port: number }): TLSSocket {
  const { isIP } = process.getBuiltinModule('node:net')
  // RFC 6066 section 3: an IP address is not a server name.
  const name = isIP(endpoint.host) === 0 ? { servername: endpoint.host } : {}
  return process.getBuiltinModule('node:tls').connect({ ...endpoint, ...name, ALPNProtocols: ['http/1.1'] })
}

function connected(socket: Socket, event: string, timeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.once('error', reject)
    // Other checks may have blocked this thread, so events that are already pending come first.
    const onTimeout = () => setImmediate(() => reject(new Expired(timeout)))
    socket.setTimeout(Math.min(timeout, 2 ** 31 - 1), onTimeout)
  })
}

function describe(socket: TLSSocket): { protocol: string; validTo: Date } {
  const protocol = (socket.getProtocol() ?? 'TLS').replace('TLSv', 'TLS ')
  return { protocol, validTo: new Date(socket.getPeerCertificate().valid_to) }
}
