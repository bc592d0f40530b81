import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends connections whose reader takes nothing of what is written to it for so many ms: what they
 * hold up, a model among it, is given up, and what has arrived is kept. A slow reader is no stalled
 * one: Node's own time-out counts what the system could pass on of a large write.
 */
export function endStalledReaders(server: Server, ms: number): void {
  const sockets = new Set<Socket>()
  // Over TLS the socket of the first event is the one below it.
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  server.on(event, (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const look = () => {
    for (const socket of sockets) {
      // Nobody else sets this very time-out, so that one which is set can be told from Node's own
      // for idle connections.
      if (socket.writableLength > 0) {
        if (socket.timeout !== ms) socket.setTimeout(ms)
      } else if (socket.timeout === ms) {
        socket.setTimeout(0)
      }
    }
  }
  const timer = setInterval(look, Math.min(5_000, ms / 4)).unref()
  server.once('close', () => clearInterval(timer))
}
