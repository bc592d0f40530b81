import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { networkFailure } from './network-failure.ts'
import { Expired, Interrupted } from './open-response.ts'
import { proxyFor } from './proxy-for.ts'
import { wrongScheme } from './wrong-scheme.ts'

/** What the network is like on the way to a service, or to the proxy before it. */
export interface NetworkReport {
  /** `host:port` of the proxy; its user name and password are not told. */
  proxy?: string
  /** The IP address that answered. */
  address: string
  /** Ms until the connection was there, the look-up of the name included. */
  connectMs: number
  /** Of the service itself: what a proxy secures is not looked into. */
  tls?: { protocol: string; validTo: Date }
}

/**
 * Connects and says nothing: no request leaves, and no credential.
 *
 * @param timeout ms
 * @throws Failure `unreachable`, `timeout` or `tls`, as a request would
 */
export async function probeNetwork(
  base: URL,
  { env, timeout }: { env: NodeJS.ProcessEnv; timeout: number },
): Promise<NetworkReport> {
  const proxy = proxyFor(base, env)
  const to = proxy ?? base
  const isSecured = to.protocol === 'https:'
  const host = to.hostname.replace(/^\[(.*)\]$/, '$1')
  const place = { host, port: Number(to.port || (isSecured ? 443 : 80)) }
  const startedAt = performance.now()
  const socket = isSecured ? secure(place) : process.getBuiltinModule('node:net').connect(place)
  try {
    await connected(socket, isSecured ? 'secureConnect' : 'connect', timeout)
    const connectMs = performance.now() - startedAt
    const report = { address: socket.remoteAddress ?? place.host, connectMs }
    if (proxy) return { ...report, proxy: proxy.host }
    return isSecured ? { ...report, tls: describe(socket as TLSSocket) } : report
  } catch (cause) {
    const interrupted = new Interrupted('connect', cause)
    const request = { method: 'GET', url: base.href }
    throw (await wrongScheme(interrupted, request, env)) ?? networkFailure(interrupted, request, env)
  } finally {
    socket.destroy()
  }
}

function secure({ host, port }: { host: string; port: number }): TLSSocket {
  const { isIP } = process.getBuiltinModule('node:net')
  // RFC 6066 section 3: an address is no server name.
  const name = isIP(host) === 0 ? { servername: host } : {}
  return process.getBuiltinModule('node:tls').connect({ host, port, ...name, ALPNProtocols: ['http/1.1'] })
}

function connected(socket: Socket, event: string, timeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.once('error', reject)
    // The other checks may have held up this thread: what has come meanwhile is heard first.
    const onTimeout = () => setImmediate(() => reject(new Expired(timeout)))
    socket.setTimeout(Math.min(timeout, 2 ** 31 - 1), onTimeout)
  })
}

function describe(socket: TLSSocket): { protocol: string; validTo: Date } {
  const protocol = (socket.getProtocol() ?? 'TLS').replace('TLSv', 'TLS ')
  return { protocol, validTo: new Date(socket.getPeerCertificate().valid_to) }
}
