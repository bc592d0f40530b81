import { closeSync, openSync } from 'node:fs'
import type { Socket } from 'node:net'
import { devNull } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/** How long, in ms, a connection that has sent nothing stays open once the service stops. */
const idleGrace = 250

/** How often, in ms, the process checks that it can open a file. */
const descriptorInterval = 1_000

/** Node's default for the connections that the system keeps waiting. */
const maxTurns = 511

/**
 * Closes connections that Node would keep open. First, a connection whose client reads nothing for
 * `stall` ms: its request is aborted, and the part of the reply that has arrived is stored. Second, when
 * the service stops, a connection that has sent no request, as browsers and proxies open them in advance.
 * Accepts the connections that wait before the service stops, because the system would reset them.
 */
export function watchConnections(
  server: FastifyInstance,
  stall: number,
  logger: FastifyBaseLogger | undefined,
): void {
  const { server: listener } = server
  const sockets = new Set<Socket>()
  const watch = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  listener.on('connection', watch)
  // Data that is written over TLS is buffered in a separate socket.
  if ('setSecureContext' in listener) listener.on('secureConnection', watch)

  const timers = [
    setInterval(() => limitStalls(sockets, stall), Math.min(5_000, stall / 4)).unref(),
    setInterval(reportDescriptors(logger), descriptorInterval).unref(),
  ]
  server.addHook('preClose', async () => {
    timers.forEach(clearInterval)
    setTimeout(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, idleGrace).unref()
    let quietTurns = 0
    listener.on('connection', () => {
      quietTurns = 0
    })
    // Node accepts one connection in each turn of the event loop.
    for (let turn = 0; turn < maxTurns && quietTurns < 3; turn++) {
      quietTurns += 1
      await setImmediate()
    }
  })
}

/** A slow reader is not stalled: Node's socket timeout restarts with each part of a large write that is sent. */
function limitStalls(sockets: ReadonlySet<Socket>, stall: number): void {
  for (const socket of sockets) {
    // Nothing else sets a timeout of this value, which distinguishes it from Node's timeout for idle
    // connections.
    if (socket.writableLength > 0) {
      if (socket.timeout !== stall) socket.setTimeout(stall)
    } else if (socket.timeout === stall) {
      socket.setTimeout(0)
    }
  }
}

/** Logs that no file descriptor is left, and that one is again. Node closes a connection without one silently. */
function reportDescriptors(logger: FastifyBaseLogger | undefined): () => void {
  let isReported = false
  return () => {
    try {
      closeSync(openSync(devNull, 'r'))
      if (isReported) logger?.warn('file descriptors are free again')
      isReported = false
    } catch (err) {
      if (isReported || !/^E[MN]FILE$/.test((err as NodeJS.ErrnoException).code ?? '')) return
      isReported = true
      logger?.error({ err }, 'no file descriptors are left, so connections are closed: raise their limit')
    }
  }
}
