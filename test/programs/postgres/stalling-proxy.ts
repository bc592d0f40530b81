import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy to a server at 127.0.0.1 that can stop forwarding, as a network does. */
export interface StallingProxy {
  port: number
  /** From now on, nothing is forwarded and nothing is refused. */
  stall(): void
  /** Forwards what was held back, also on new connections. */
  resume(): void
  close(): Promise<void>
}

export async function startStallingProxy(target: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>()
  let isStalled = false
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    if (isStalled) socket.pause()
  }
  const server = createServer((incoming) => {
    const outgoing = connect(target, '127.0.0.1')
    track(incoming)
    track(outgoing)
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk))
      from.once('close', () => to.destroy())
    }
    if (isStalled) for (const socket of [incoming, outgoing]) socket.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      isStalled = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      isStalled = false
      for (const socket of sockets) socket.resume()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
