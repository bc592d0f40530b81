import { once } from 'node:events'
import type { Server, ServerOptions } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'

export interface LoopbackAddress {
  host: '127.0.0.1' | '::1'
  /** Tried in order; 0 is any that is free. */
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
  // Cookies know no port: a browser sends along those of every other service on this address.
  maxHeaderSize: 65_536,
  // A request without a Host is judged like any other.
  requireHostHeader: false,
}

/** Connections that the system may hold until we get to them; where it allows fewer, fewer. */
const backlog = 4096

/**
 * Listens on loopback, at the first of the ports that can be had.
 * @throws Failure `refused` where none of them can
 */
export async function openLoopbackServer(address: LoopbackAddress): Promise<LoopbackServer> {
  // An import would load it for every renewal of a token, too.
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

/** Every open connection, those that have sent nothing and those that are being refused among them. */
function holdSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // What breaks is the other side's affair.
    socket.on('error', () => {})
  })
  // Not HTTP, too long or too slow. Ended rather than half open: the other side may never end it.
  server.on('clientError', (_, socket) => {
    if (socket.writable) socket.write('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    ;(socket as Socket).destroySoon()
  })
  return sockets
}

/** The first of the ports that can be had. */
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
  // From here on it is a connection that could not be accepted, and others can.
  server.on('error', () => {})
  return server.address() as AddressInfo
}

/** @throws Failure `refused` where the address is missing, so that no port of it can be had */
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
