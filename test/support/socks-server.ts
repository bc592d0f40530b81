import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { joinSockets } from './scripted-server.ts'

/** What a client has sent to the proxy. */
interface SocksRequest {
  /** `name:password`; undefined without authentication. */
  user: string | undefined
  /** The host and port, as the client names them. */
  target: string
}

interface SocksServer extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string
  readonly requests: SocksRequest[]
  /** The reply to each request: 0 opens the connection, 5 means that the target refuses it (RFC 1928 section 6). */
  reply: number
  close(): Promise<void>
}

/** Starts a SOCKS 5 proxy whose connections lead to one port on loopback. */
export async function startSocksServer(port: () => number | string): Promise<SocksServer> {
  const sockets = new Set<Socket>()
  const server = createServer(async (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const receive = () => new Promise<Buffer>((resolve) => socket.once('data', resolve))
    const takesPassword = (await receive()).subarray(2).includes(2)
    socket.write(Buffer.from([5, takesPassword ? 2 : 0]))
    let user: string | undefined
    if (takesPassword) {
      const sent = await receive()
      const end = 2 + (sent[1] ?? 0)
      user = `${sent.subarray(2, end)}:${sent.subarray(end + 1)}`
      socket.write(Buffer.from([1, 0]))
    }
    const sent = await receive()
    const host = sent[3] === 3 ? String(sent.subarray(5, -2)) : sent.subarray(4, -2).join('.')
    started.requests.push({ user, target: `${host}:${sent.readUInt16BE(sent.length - 2)}` })
    socket.write(Buffer.from([5, started.reply, 0, 1, 0, 0, 0, 0, 0, 0]))
    if (started.reply === 0) joinSockets(socket, connect(Number(port()), '127.0.0.1'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const started: SocksServer = { host, requests: [], reply: 0, close, [Symbol.asyncDispose]: close }
  return started
}
