import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { buildConnector as Build } from 'undici'
import buildConnector from 'undici/lib/core/connect.js'
import { Socks5Client } from 'undici/lib/core/socks5-client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../../contract/failure.ts'
import { startTimer } from '../clock.ts'
import { proxyRefusal } from './network-fault.ts'
import { bare, defaultPorts, type ProxyServer, proxyFor } from './proxy.ts'

export interface ConnectOptions {
  /** Names the proxy. Default: none. */
  env?: NodeJS.ProcessEnv | undefined
  /** Milliseconds for the whole connection: to the proxy, through it, and TLS. */
  connectTimeout: number
  /** Whether any certificate is accepted, because nothing secret is sent. */
  trustsAny?: boolean
}

/** A server or proxy. Its host is as in a URL: undici takes an IPv6 address without brackets for a name. */
type Target = Pick<Build.Options, 'protocol' | 'hostname' | 'port'>

const loopback = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }))

/** RFC 6761 section 6.3: `localhost` is this machine, and may get a credential unencrypted, whatever the system resolves. */
const lookup: LookupFunction = (host, options, callback) => {
  if (host !== 'localhost') process.getBuiltinModule('node:dns').lookup(host, options, callback)
  else if (options.all) callback(null, loopback)
  else callback(null, '127.0.0.1', 4)
}

/**
 * How every connection for HTTP is opened: directly, or through the proxy of its origin.
 * NODE_TLS_REJECT_UNAUTHORIZED has no effect.
 * @param signal closes every connection
 * @throws Failure as `proxyFor`
 */
export function createConnector(
  origin: URL,
  { env = {}, connectTimeout, trustsAny = false }: ConnectOptions,
  signal?: AbortSignal,
) {
  const proxy = proxyFor(origin, env)
  const build = buildConnector({ allowH2: false, timeout: 0, rejectUnauthorized: !trustsAny, lookup, signal })

  async function open(protocol = origin.protocol): Promise<Socket> {
    let current: Socket | undefined
    const port = origin.port || defaultPorts[origin.protocol] || ''
    const target = { protocol, hostname: origin.hostname, port }
    const step = ({ hostname: host, ...more }: Target & { httpSocket?: Socket }) =>
      new Promise<Socket>((resolve, reject) => {
        const onEnd: Build.Callback = (error, socket) => (socket ? resolve(socket) : reject(error))
        const opened: unknown = build({ ...more, host, hostname: bare(host) }, onEnd)
        current = opened as Socket
      })
    const expire = () =>
      current?.destroy(Object.assign(new Error('timeout'), { code: 'UND_ERR_CONNECT_TIMEOUT' }))
    // Other work may have blocked this thread, so events that are already pending come first.
    const stop = startTimer(connectTimeout, () => setImmediate(expire))
    try {
      if (!proxy) return await step(target)
      const { scheme, named } = proxy
      const httpSocket = await step({ ...proxy, protocol: scheme === 'https:' ? scheme : 'http:' })
        .then((socket) => passProxy(socket, proxy, target))
        .catch((cause) => {
          const error = new Error(`the proxy ${named.address} (${named.variable})`, { cause })
          throw Object.assign(error, { proxy: named })
        })
      return protocol === 'https:' ? await step({ ...target, httpSocket }) : httpSocket
    } finally {
      stop()
      current = undefined
    }
  }

  return { open, proxy }
}

/**
 * Opens the connections to one origin, which are kept for further requests.
 * @throws Failure as `createConnector`; `refused` if Node.js accepts any certificate
 */
export function openPool(origin: URL, options: ConnectOptions) {
  const { protocol } = origin
  if (protocol === 'https:' && options.env?.['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const words = 'because NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node.js accept any certificate'
    const hint = 'Unset it. To trust another certificate authority, set NODE_EXTRA_CA_CERTS to its PEM file.'
    throw new Failure('refused', `Nothing is sent to ${origin.origin}, ${words}`, { hint })
  }
  const closing = new AbortController()
  const { open, proxy } = createConnector(origin, options, closing.signal)
  const pool = new Pool(origin.origin, {
    // HTTP/2 does not help a short-lived client, and needs another module and the handling of GOAWAY. In HTTP/1.1, a
    // stream that is left early closes its connection, which every server notices.
    allowH2: false,
    connect: (_, callback) => {
      open().then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      )
    },
  })
  const close = (reason?: Error) => {
    const closed = pool.destroy(reason ?? null)
    // The pool does not know the connections that are being opened.
    closing.abort(reason)
    return closed
  }
  /** Whether the server, at an `http://` address, speaks TLS. */
  const speaksTls = async () => {
    if (protocol === 'https:' || proxy) return false
    const { open: probe } = createConnector(origin, { connectTimeout: 1_000, trustsAny: true })
    const socket = await probe('https:').catch(() => undefined)
    return socket?.destroy() !== undefined
  }
  const forwarder = proxy && forwards(protocol, proxy) ? proxy : undefined
  // RFC 9112 section 3.2.2.
  const prefix = forwarder ? origin.origin : ''
  return { pool, close, speaksTls, prefix, headers: authorizationOf(forwarder), forwarder: forwarder?.named }
}

/** A proxy for requests to plain HTTP passes on requests. Any other passes on bytes, through a tunnel. */
const forwards = (protocol: string, { scheme }: ProxyServer): boolean =>
  protocol === 'http:' && !scheme.startsWith('socks')

/** RFC 9110 section 11.7.1. */
const authorizationOf = ({
  username = '',
  password = '',
}: Partial<ProxyServer> = {}): Record<string, string> =>
  username === ''
    ? {}
    : { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }

/** Asks a proxy for a connection to a server: with SOCKS (RFC 1928), or for a tunnel (RFC 9110 section 9.3.6). */
function passProxy(
  socket: Socket,
  proxy: ProxyServer,
  { protocol, hostname, port }: Target,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (forwards(protocol, proxy)) resolve(socket)
    else if (proxy.scheme.startsWith('socks')) {
      const client = new Socks5Client(socket, proxy)
      client.on('error', reject)
      client.on('close', () => reject(Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' })))
      // The proxy resolves the name.
      client.on('authenticated', () => client.connect(bare(hostname), Number(port)))
      client.on('connected', () => resolve(socket))
      client.handshake()
    } else {
      const path = `${hostname}:${port}`
      const headers = { host: path, ...authorizationOf(proxy) }
      const { request } = process.getBuiltinModule('node:http')
      request({ method: 'CONNECT', path, headers, createConnection: () => socket })
        .once('error', reject)
        .once('connect', ({ statusCode = 0 }) => {
          if (statusCode >= 200 && statusCode <= 299) return resolve(socket)
          socket.destroy()
          reject(Object.assign(new Error(`status ${statusCode}`), { code: proxyRefusal }))
        })
        .end()
    }
  })
}
