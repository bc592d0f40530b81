import { once } from 'node:events'
import type { Server, ServerOptions } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'

export interface LoopbackAddress {
  host: '127.0.0.1' | '::1'
  /** Tried in order; 0 means any free port. */
  ports: readonly number[]
}

interface LoopbackServer {
  server: Server
  port: number
  /** Ends all connections at once. */
  close(): Promise<void>
}

/** Connections of other programs may be slow, idle, or many: each is closed after 5 s. */
const serverOptions: ServerOptions = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 500,
  // Cookies are shared between ports, so the browser also sends those of other services on this address.
  maxHeaderSize: 65_536,
  // `checkCallback` handles requests without a Host.
  requireHostHeader: false,
}

/** Maximum number of pending connections. The system may allow fewer. */
const backlog = 4096

/**
 * Listens on loopback, on the first available port.
 *
 * @throws Failure `refused` if none of the ports is available
 */
export async function openLoopbackServer(address: LoopbackAddress): Promise<LoopbackServer> {
  // Not an import, which would load the module for every renewal of tokens.
  const server = process.getBuiltinModule('node:http').createServer(serverOptions)
  const sockets = holdSockets(server)
  const { port } = await listen(server, address)
  let closed: Promise<void> | undefined
  return {
    server,
    port,
    close() {
      closed ??= new Promise((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      return closed
    },
  }
}

/** All open connections, including those without a request. */
function holdSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Errors of a connection concern only the other side.
    socket.on('error', () => {})
  })
  // Not HTTP, too long, or too slow. Destroyed, because the other side may never close it.
  server.on('clientError', (_, socket) => {
    if (socket.writable) socket.write('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    ;(socket as Socket).destroySoon()
  })
  return sockets
}

async function listen(server: Server, { host, ports }: LoopbackAddress): Promise<AddressInfo> {
  const tried: string[] = []
  for (const port of ports) {
    try {
      return await bind(server, host, port)
    } catch (cause) {
      tried.push(describeRefusal(cause, host, port))
    }
  }
  throw new Failure('refused', `Cannot listen on ${host} for the browser: ${tried.join(', ')}`, {
    advice: [{ code: 'other_redirect_port' }],
  })
}

async function bind(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen({ host, port, backlog })
  await once(server, 'listening')
  // Later errors are about single connections that could not be accepted.
  server.on('error', () => {})
  return server.address() as AddressInfo
}

/** @throws Failure `refused` if the machine does not have the address, so that no port can be available */
function describeRefusal(cause: unknown, host: string, port: number): string {
  switch ((cause as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} is in use`
    case 'EACCES':
      return `no permission for port ${port}`
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL': {
      const other = host === '::1' ? '127.0.0.1' : '::1'
      throw new Failure('refused', `This machine has no address ${host}`, {
        advice: [{ code: 'other_redirect_host', host: other }],
        cause,
      })
    }
    default:
      return `port ${port}: ${describeSystemError(cause)}`
  }
}
