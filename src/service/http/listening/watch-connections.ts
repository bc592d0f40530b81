import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long, in ms, a connection on which nothing was said may go on once the service stops. */
const idleGrace = 250

/**
 * Ends connections that hold something up, and that Node leaves alone. One whose reader takes
 * nothing of what is written to it for so many ms: what it waits for, a model among it, is given up,
 * and what has arrived is kept. And, when the service stops, one that never asked for anything, as
 * browsers and proxies open them beforehand.
 */
export function watchConnections(server: FastifyInstance, stall: number): void {
  const { server: listener } = server
  const sockets = new Set<Socket>()
  const watch = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  listener.on('connection', watch)
  // What is written over TLS waits in a socket of its own.
  if ('setSecureContext' in listener) listener.on('secureConnection', watch)

  const timer = setInterval(() => limitStalls(sockets, stall), Math.min(5_000, stall / 4)).unref()
  server.addHook('preClose', (done) => {
    clearInterval(timer)
    setTimeout(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, idleGrace).unref()
    done()
  })
}

/** A slow reader is no stalled one: Node's own time-out counts what the system could pass on of a large write. */
function limitStalls(sockets: ReadonlySet<Socket>, stall: number): void {
  for (const socket of sockets) {
    // Nobody else sets this very time-out, so that one which is set can be told from Node's own for
    // idle connections.
    if (socket.writableLength > 0) {
      if (socket.timeout !== stall) socket.setTimeout(stall)
    } else if (socket.timeout === stall) {
      socket.setTimeout(0)
    }
  }
}
